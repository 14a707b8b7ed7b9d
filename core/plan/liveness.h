// SPDX-License-Identifier: GPL-3.0-or-later
// Liveness of buffers, op by op in program order. A value is live from the op that writes it to the
// last op that reads it. A buffer that is fully overwritten before its next read has several live
// ranges, and other buffers may use its memory between them.
//
// A copy lane runs in parallel with the others, ordered only by dependencies. An op of a copy lane
// may start right after the last compute op that it waits for, directly or through earlier ops of
// its lane. The op is complete before the first compute op that waits for it. The op may be in
// progress at any time in this range, so its buffers are live for the full range.
#pragma once

#include <cstddef>
#include <vector>

#include "core/plan/plan.h"

namespace trainyard::plan {

// Range of ops of a program, from `first` to `last`, both included.
struct OpRange {
  std::size_t first = 0, last = 0;
  bool operator==(const OpRange&) const = default;
};

class Liveness {
 public:
  explicit Liveness(const RankPlan& rank);

  // Returns the live ranges of a buffer, ascending and disjoint. A buffer that no op of the program
  // reads has one range, from the first op that touches it to the last, because the host may read
  // it between ops.
  const std::vector<OpRange>& of(std::size_t program, std::size_t buffer) const {
    return stretches_[program][buffer];
  }
  // True if no value in the buffer survives from program to program: every program writes the
  // buffer before it reads it, and no copy of the buffer is in progress when a program begins or
  // ends.
  bool is_written_first(std::size_t buffer) const { return written_first_[buffer]; }
  // True if both buffers are live at the same op of some program.
  bool meet(std::size_t a, std::size_t b) const;

 private:
  std::vector<std::vector<std::vector<OpRange>>> stretches_;  // live ranges by program and buffer
  std::vector<bool> written_first_;
};

}  // namespace trainyard::plan
