// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/collective_runner.h"

namespace trainyard::run {

namespace {
constexpr std::chrono::microseconds kWaitSlice{2000};  // the abort word is looked at between slices
}  // namespace

CollectiveRunner::CollectiveRunner(const plan::RankPlan& plan, const BoundPlan& bound, Exchange& exchange)
    : plan_(plan), bound_(bound), exchange_(exchange), frontier_(plan) {}

base::Result<void> CollectiveRunner::run(int program, std::int64_t step) {
  frontier_.admit(program, step);  // never full: every instance before is complete
  while (!frontier_.instance_complete(frontier_.admitted() - 1)) {
    const auto moved = progress();
    if (!moved) return base::fail(moved.error());
    if (!*moved) exchange_.wait(kWaitSlice);
  }
  return {};
}

bool CollectiveRunner::start_ready() {
  bool started = false;
  for (std::size_t l = 0; l < plan_.lanes.size(); ++l)
    while (const auto ready = frontier_.next(plan::LaneId(l))) {
      exchange_.start(bound_.programs[static_cast<std::size_t>(ready->program)].ops[static_cast<std::size_t>(ready->op)], *ready);
      frontier_.start(plan::LaneId(l));
      started = true;
    }
  return started;
}

base::Result<bool> CollectiveRunner::progress() {
  const bool started = start_ready();
  done_.clear();
  std::int64_t busy_ns = 0;
  const auto moved = exchange_.poll(done_, busy_ns);
  if (!moved) return base::fail(moved.error());
  for (const Transfer& transfer : done_) frontier_.finish(transfer.op->lane, transfer.ready);
  return started || *moved;
}

}  // namespace trainyard::run
