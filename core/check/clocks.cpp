// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/check/clocks.h"

#include <algorithm>
#include <utility>

namespace trainyard::check {

void join(Clock& clock, const Clock& other) {
  for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}

void LaneClocks::finish(std::int64_t sequence, Clock clock, std::size_t lane) {
  pending(sequence) = {std::move(clock), true};
  while (!pending_.empty() && pending_.front().finished) {
    Clock next = complete_.back();
    join(next, pending_.front().clock);
    next[lane] = static_cast<std::int32_t>(++closed_);
    complete_.push_back(std::move(next));
    pending_.pop_front();
  }
}

void LaneClocks::forget_before(std::int64_t count) {
  for (; first_ < std::min(count, closed_); ++first_) complete_.pop_front();
}

LaneClocks::Pending& LaneClocks::pending(std::int64_t sequence) {
  const auto at = static_cast<std::size_t>(sequence - closed_);
  if (pending_.size() <= at) pending_.resize(at + 1);
  return pending_[at];
}

}  // namespace trainyard::check
