// SPDX-License-Identifier: GPL-3.0-or-later
// Long work of the window, in pieces: one of them in a turn of the event loop, in the order they asked, so that all that has much to do
// (to read a long run, to draw its charts) never holds up the window together.
#pragma once

#include <QObject>
#include <QPointer>
#include <QTimer>
#include <deque>
#include <functional>

namespace trainyard::ui {

class Turns : public QObject {
  Q_OBJECT
 public:
  static Turns& instance();
  // Runs `piece` once, unless `owner` is gone by then. An owner that waits already keeps its place, and its piece.
  void ask(QObject* owner, std::function<void()> piece);
  bool waits(const QObject* owner) const;

 private:
  struct Waiting {
    QPointer<QObject> owner;
    std::function<void()> piece;
  };

  Turns();
  void run_next();

  std::deque<Waiting> waiting_;
  QTimer turn_;
};

}  // namespace trainyard::ui
