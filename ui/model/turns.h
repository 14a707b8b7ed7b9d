// SPDX-License-Identifier: GPL-3.0-or-later
// Long work of the window, in pieces: one of them in a turn of the event loop, in the order they
// asked, so that all that has much to do (to read a long run, to draw its charts) never holds up
// the window together. Most turns are for reading while anything is read: charts that are drawn
// less often do not fall behind.
#pragma once

#include <QObject>
#include <QPointer>
#include <QTimer>
#include <deque>
#include <functional>

namespace trainyard::ui {

enum class Work { reading, drawing };

class Turns : public QObject {
  Q_OBJECT
 public:
  static Turns& instance();
  // Runs `piece` once, unless `owner` is gone by then. An owner that waits already keeps its place,
  // and its piece.
  void ask(QObject* owner, Work work, std::function<void()> piece);
  bool waits(const QObject* owner) const;

 private:
  struct Waiting {
    QPointer<QObject> owner;
    std::function<void()> piece;
  };

  Turns();
  void run_next();

  std::deque<Waiting>& next_queue();

  std::deque<Waiting> reading_, drawing_;
  int readings_ = 0;  // while a drawing waits
  QTimer turn_;
};

}  // namespace trainyard::ui
