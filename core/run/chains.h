// SPDX-License-Identifier: GPL-3.0-or-later
// Compute ops of a rank that its device is given as one, where it gains by that: those that follow
// each other on the lane and wait for nothing else, and in which the host has no part. What an op
// leaves may be sent, and is told of, as soon as it is done, in a chain or not.
#pragma once

#include <memory>
#include <vector>

#include "core/run/bound_plan.h"

namespace trainyard::run {

// Whether the host does something when the op is given: nothing may be on the device then.
bool has_part_of_host(plan::OpKind kind);
// Whether the op overwrites what the host has yet to look at, where another did so before it.
bool leaves_loss(const BoundOp& op);

// How the ops of a program on that lane are chained, at most so many in one.
struct Links {
  std::size_t first = 0;  // of the ops on the lane
  std::size_t count = 0;  // two at least
};
std::vector<Links> links_of(const plan::Program& program, const BoundProgram& bound,
                            plan::LaneId lane, std::size_t most);

class Chains {
 public:
  // Chains of at most so many ops each. `bound` and `compute` outlive them.
  Chains(const plan::RankPlan& plan, const BoundPlan& bound, plan::LaneId lane,
         compute::Compute& compute, std::size_t most);

  struct Chain {
    std::unique_ptr<compute::Chain> given;
    std::vector<const BoundOp*> ops;
  };
  // The chain that begins with that op; null: it is given alone.
  Chain* from(int program, int op) {
    return of_op_[static_cast<std::size_t>(program)][static_cast<std::size_t>(op)].get();
  }

 private:
  std::vector<std::vector<std::unique_ptr<Chain>>> of_op_;
};

}  // namespace trainyard::run
