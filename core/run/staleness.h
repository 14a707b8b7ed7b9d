// SPDX-License-Identifier: GPL-3.0-or-later
// How stale gradients are by the plan alone, where a rank updates after every micro-batch: updates
// that came between its forward pass and its own update.
#pragma once

#include <vector>

#include "core/plan/plan.h"

namespace trainyard::run {

class Staleness {
 public:
  explicit Staleness(const plan::RankPlan& plan);

  // Of the micro-batch whose update the op counts (RATE.m0); -1: it is no such op.
  int of(int program, int op) const {
    return by_op_[static_cast<std::size_t>(program)][static_cast<std::size_t>(op)];
  }

 private:
  std::vector<std::vector<int>> by_op_;  // by program
};

}  // namespace trainyard::run
