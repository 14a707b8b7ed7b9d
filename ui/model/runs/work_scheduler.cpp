// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/runs/work_scheduler.h"

#include <algorithm>
#include <utility>

namespace trainyard::ui {
namespace {

constexpr int kPauseMilliseconds = 1;
// number of reading tasks that run before each drawing task while tasks of both kinds are waiting
constexpr int kReadsPerDraw = 3;

}  // namespace

WorkScheduler& WorkScheduler::instance() {
  static WorkScheduler turns;
  return turns;
}

WorkScheduler::WorkScheduler() {
  turn_.setSingleShot(true);
  turn_.setInterval(kPauseMilliseconds);
  connect(&turn_, &QTimer::timeout, this, &WorkScheduler::run_next);
}

bool WorkScheduler::waits(const QObject* owner) const {
  const auto is_owner = [&](const Waiting& one) { return one.owner == owner; };
  return std::ranges::any_of(reading_, is_owner) || std::ranges::any_of(drawing_, is_owner);
}

void WorkScheduler::ask(QObject* owner, Work work, std::function<void()> piece) {
  if (!waits(owner))
    (work == Work::reading ? reading_ : drawing_).push_back({owner, std::move(piece)});
  if (!turn_.isActive()) turn_.start();
}

std::deque<WorkScheduler::Waiting>& WorkScheduler::next_queue() {
  const bool draws = reading_.empty() || (!drawing_.empty() && readings_ >= kReadsPerDraw);
  readings_ = draws || drawing_.empty() ? 0 : readings_ + 1;
  return draws ? drawing_ : reading_;
}

void WorkScheduler::run_next() {
  for (auto* queue : {&reading_, &drawing_})
    std::erase_if(*queue, [](const Waiting& one) { return !one.owner; });
  auto& queue = next_queue();
  if (queue.empty()) return;
  const Waiting next = std::move(queue.front());
  queue.pop_front();
  turn_.start();
  next.piece();
}

}  // namespace trainyard::ui
