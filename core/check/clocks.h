// SPDX-License-Identifier: GPL-3.0-or-later
// Vector clocks (Fidge 1988, Mattern 1989) over the lanes of all ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace trainyard::check {

// Vector clock: for each lane of each rank, how many of the lane's ops, from the first one, are
// known to be complete.
using Clock = std::vector<std::int32_t>;

void join(Clock& clock, const Clock& other);  // merges `other` into `clock` (maximum by lane)

// Vector clocks of the ops of one lane. Old clocks are dropped when no later op can need them.
class LaneClocks {
 public:
  explicit LaneClocks(std::size_t lanes) { complete_.emplace_back(lanes, 0); }

  // Returns the vector clock of the time at which the first `count` ops of the lane are complete.
  const Clock& after(std::int64_t count) const {
    return complete_[static_cast<std::size_t>(count - first_)];
  }
  Clock& start(std::int64_t sequence) { return pending(sequence).clock; }

  void finish(std::int64_t sequence, Clock clock, std::size_t lane);  // `lane`: index of this lane
  void forget_before(std::int64_t count);

 private:
  struct Pending {
    Clock clock;  // clock at the op's start; after it ended, at its end
    bool finished = false;
  };
  Pending& pending(std::int64_t sequence);

  std::deque<Clock> complete_;   // by number of complete ops, beginning with first_
  std::deque<Pending> pending_;  // pending ops by sequence number, beginning with closed_
  std::int64_t first_ = 0, closed_ = 0;
};

}  // namespace trainyard::check
