// SPDX-License-Identifier: GPL-3.0-or-later
// When what stands in a buffer matters, op by op in the order of a program: from an op that writes
// it to the last that reads that. What is wholly overwritten before it is read again matters in
// several stretches, and between them others may have its place.
//
// A copy lane runs beside the others, and only dependencies say when: its op may be under way from
// right after the last compute op that it waits for, itself or through those before it on its lane,
// until right before the first compute op that waits for it. So two stretches are apart only where
// the plan orders them.
#pragma once

#include <cstddef>
#include <vector>

#include "core/plan/plan.h"

namespace trainyard::plan {

// Ops of a program, the last one too.
struct Stretch {
  std::size_t first = 0, last = 0;
  bool operator==(const Stretch&) const = default;
};

class Lives {
 public:
  explicit Lives(const RankPlan& rank);

  // Ascending, and apart from each other. Of a buffer that no op of the program reads, one stretch
  // from the first op that touches it to the last: the host may read it between ops.
  const std::vector<Stretch>& of(std::size_t program, std::size_t buffer) const {
    return stretches_[program][buffer];
  }
  // Whether every program has written all that it reads of the buffer before it does, and no copy
  // of it may be under way when a program begins or ends: nothing in it lasts from program to
  // program.
  bool begins_anew(std::size_t buffer) const { return begins_anew_[buffer]; }
  // Whether both matter at some op of a program.
  bool meet(std::size_t a, std::size_t b) const;

 private:
  std::vector<std::vector<std::vector<Stretch>>> stretches_;  // by program, by buffer
  std::vector<bool> begins_anew_;
};

}  // namespace trainyard::plan
