// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/arrivals.h"

#include <algorithm>
#include <limits>

namespace trainyard::plan {

ArrivalQueue::ArrivalQueue(const ArrivalRule& rule)
    : rule_(rule), workers_(static_cast<std::size_t>(rule.workers)) {}

// Continues from a checkpoint. A checkpoint does not record rounds that were assigned but not
// pushed. So samples that workers had in progress are skipped or used twice.
void ArrivalQueue::resume_from(std::int64_t version, std::int64_t steps) {
  version_ = version;
  given_ = pushed_ = steps;
}

void ArrivalQueue::allow(std::int64_t steps) { allowed_ = std::max(allowed_, steps); }

// Adds a worker. A rejoined worker gets the round count of the slowest worker, so that the other
// workers do not wait until it has caught up.
void ArrivalQueue::join(int worker) {
  Worker& joins = workers_[static_cast<std::size_t>(worker)];
  joins.clock = std::max(joins.clock, slowest());
  joins.state = State::waits;
  asked_.push_back(worker);
}

void ArrivalQueue::leave(int worker) {
  Worker& leaves = workers_[static_cast<std::size_t>(worker)];
  if (leaves.state == State::computes && !rule_.answers_after_update)
    returned_.push_back(leaves.round);
  leaves.state = State::away;
  std::erase(asked_, worker);
}

ArrivalQueue::Push ArrivalQueue::push(int worker) {
  Worker& pushes = workers_[static_cast<std::size_t>(worker)];
  Push push{pushes.version, version_ - pushes.version, pushes.round};
  push.dropped = rule_.answers_after_update && push.staleness > 0;
  ++pushes.clock;
  ++pushed_;
  pushes.state = State::waits;
  asked_.push_back(worker);
  if (push.dropped) return push;
  pushes.pushed_to = version_;
  push.completes = ++gathered_ == rule_.gradients_per_update;
  if (push.completes) ++version_, gathered_ = 0;
  return push;
}

std::optional<ArrivalQueue::Answer> ArrivalQueue::answer(
    const std::function<bool(int worker)>& ready) {
  const auto may = [&](int worker) {
    return may_continue(workers_[static_cast<std::size_t>(worker)]) && (!ready || ready(worker));
  };
  const auto first = std::find_if(asked_.begin(), asked_.end(), may);
  if (first == asked_.end()) return std::nullopt;
  const int number = *first;
  asked_.erase(first);
  Worker& worker = workers_[static_cast<std::size_t>(number)];
  worker.state = State::computes;
  worker.version = version_;
  worker.round = next_round(number);
  return Answer{number, version_, worker.round};
}

std::int64_t ArrivalQueue::next_round(int worker) {
  if (rule_.answers_after_update) return version_ * rule_.workers + worker;
  if (returned_.empty()) return given_++;
  const std::int64_t round = returned_.front();
  returned_.pop_front();
  return round;
}

bool ArrivalQueue::rounds_left() const {
  if (rule_.answers_after_update) return version_ < allowed_;
  return !returned_.empty() || given_ < allowed_;
}

bool ArrivalQueue::may_continue(const Worker& worker) const {
  if (!rounds_left()) return false;
  if (rule_.answers_after_update && worker.pushed_to == version_) return false;
  return rule_.clock_bound < 0 || worker.clock - slowest() <= rule_.clock_bound;
}

std::int64_t ArrivalQueue::slowest() const {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const Worker& worker : workers_)
    if (worker.state != State::away) least = std::min(least, worker.clock);
  return least == std::numeric_limits<std::int64_t>::max() ? 0 : least;
}

}  // namespace trainyard::plan
