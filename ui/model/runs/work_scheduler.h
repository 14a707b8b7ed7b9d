// SPDX-License-Identifier: GPL-3.0-or-later
// Cooperative scheduler for long work on the GUI thread. Runs one piece of work per turn of the
// event loop, in the order of requests, so that reading a long run and drawing charts never block
// the workbench. While there is data to read, most turns are for reading; charts are drawn less
// often instead of falling behind.
#pragma once

#include <QObject>
#include <QPointer>
#include <QTimer>
#include <deque>
#include <functional>

namespace trainyard::ui {

enum class Work { reading, drawing };

class WorkScheduler : public QObject {
  Q_OBJECT
 public:
  static WorkScheduler& instance();
  // Schedules `piece` to run once, unless `owner` is destroyed before. An owner that already waits
  // keeps its position and its piece.
  void ask(QObject* owner, Work work, std::function<void()> piece);
  bool waits(const QObject* owner) const;

 private:
  struct Waiting {
    QPointer<QObject> owner;
    std::function<void()> piece;
  };

  WorkScheduler();
  void run_next();

  std::deque<Waiting>& next_queue();

  std::deque<Waiting> reading_, drawing_;
  int readings_ = 0;  // since the last drawing, while one waits
  QTimer turn_;
};

}  // namespace trainyard::ui
