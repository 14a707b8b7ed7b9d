// SPDX-License-Identifier: GPL-3.0-or-later
// Staleness of gradients as defined by the plan, on a rank that updates after every micro-batch:
// the number of updates between a micro-batch's forward pass and its own update.
#pragma once

#include <vector>

#include "core/plan/plan.h"

namespace trainyard::run {

class Staleness {
 public:
  explicit Staleness(const plan::RankPlan& plan);

  // Returns the staleness of a micro-batch, if the op counts its update (RATE.m0); -1 for other
  // ops.
  int of(int program, int op) const {
    return by_op_[static_cast<std::size_t>(program)][static_cast<std::size_t>(op)];
  }

 private:
  std::vector<std::vector<int>> by_op_;  // staleness by program and op
};

}  // namespace trainyard::run
