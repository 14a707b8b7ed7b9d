// SPDX-License-Identifier: GPL-3.0-or-later
// Cooperative scheduler for long work on the GUI thread, such as reading a long run and drawing
// charts. The work is split into short tasks. One task runs per iteration of the event loop, in the
// order of requests, so that the workbench never blocks. While there is data to read, most
// iterations run reading tasks, and charts are drawn less often.
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
  // Schedules the task `piece` to run once, unless `owner` is destroyed before that. If another
  // task of the owner is already waiting, that task keeps its position, and `piece` is ignored.
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
  int readings_ = 0;  // number of reads since the last drawing, while a drawing is waiting
  QTimer turn_;
};

}  // namespace trainyard::ui
