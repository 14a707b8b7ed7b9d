// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/strategy/edit.h"
#include "core/strategy/replica.h"
#include "core/strategy/strategy.h"

namespace trainyard::strategy {
namespace {

using plan::Op;
using plan::OpKind;

// Makes the first forward and the first update of each training program wait for the communication
// of the program before it. Later ops follow these two ops on the lane, so they need no such
// dependency.
void order_after_start(plan::Program& program, plan::LaneId comm) {
  const auto order = [&](auto is) {
    const auto first = std::find_if(program.ops.begin(), program.ops.end(), is);
    if (first != program.ops.end()) first->after.push_back({comm, plan::Dependency::end, 1});
  };
  order([](const Op& op) { return op.kind == OpKind::forward || op.kind == OpKind::partial; });
  order([](const Op& op) { return op.kind == OpKind::update; });
}

// Adds the program "start": all ranks receive the parameters of rank 0.
plan::RankPlan with_start(plan::RankPlan rank) {
  const plan::LaneId comm = lane_of(rank, 0);
  if (!comm.valid()) return rank;  // a single rank sends nothing
  const plan::Access parameters = whole(rank, "params");
  rank.buffers[parameters.buffer.index()].shared = true;  // peers read the parameters in place
  for (plan::Program& program : rank.programs)
    if (is_training(program)) order_after_start(program, comm);
  rank.programs.push_back(
      {"start", 0, 0, 1, {rooted(OpKind::broadcast, comm, 0, 0, 0, parameters)}, {}});
  return rank;
}

}  // namespace

base::Result<plan::Plan> ddp(const experiment::Resolved& experiment) {
  return mirrored(experiment).map([](plan::Plan plan) {
    plan.rank_plan = [replica = plan.rank_plan](std::int32_t rank) {
      return with_start(replica(rank));
    };
    return plan;
  });
}

}  // namespace trainyard::strategy
