// SPDX-License-Identifier: GPL-3.0-or-later
// Chains of compute ops that are submitted to a device together, where this is faster (CUDA
// graphs). A chain is a sequence of consecutive ops of the lane that wait for no other lane and
// need no work by the host. The results of an op may be sent and reported as soon as the op is
// done, in a chain or not.
#pragma once

#include <memory>
#include <vector>

#include "core/run/bind/bound_plan.h"

namespace trainyard::run {

// True if the host must do work when the op is submitted; the device must then be idle.
bool needs_host(const BoundOp& op);
// True if the op writes the loss buffer. It may be submitted only after the host has read the loss
// of an earlier op from this buffer.
bool leaves_loss(const BoundOp& op);

// Range of a lane's ops that form a chain. `links_of` returns all chains of a program on a lane; a
// chain has at most `most` ops.
struct Links {
  std::size_t first = 0;  // index among the ops of the lane
  std::size_t count = 0;  // number of ops, at least two
};
std::vector<Links> links_of(const plan::Program& program, const BoundProgram& bound,
                            plan::LaneId lane, std::size_t most);

class Chains {
 public:
  // Creates chains of at most `most` ops. `bound` and `compute` must outlive them.
  Chains(const plan::RankPlan& plan, const BoundPlan& bound, plan::LaneId lane,
         compute::Compute& compute, std::size_t most);

  struct Chain {
    std::unique_ptr<compute::Chain> given;
    std::vector<const BoundOp*> ops;
  };
  // Returns the chain that begins with the op; null if the op is submitted alone.
  Chain* from(int program, int op) {
    return of_op_[static_cast<std::size_t>(program)][static_cast<std::size_t>(op)].get();
  }

 private:
  std::vector<std::vector<std::unique_ptr<Chain>>> of_op_;
};

}  // namespace trainyard::run
