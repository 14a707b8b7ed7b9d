// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/strategy/strategy.h"

namespace trainyard::strategy {
namespace {

using plan::Op;
using plan::OpKind;

// What comes before the first step: everybody takes the parameters of rank 0.
plan::Program broadcast_of(plan::BufferId parameters, const plan::RankPlan& rank, plan::LaneId comm) {
  Op op;
  op.kind = OpKind::broadcast;
  op.lane = comm;
  op.bucket = 0;
  op.group = 0;
  op.peer = 0;
  op.reads = op.writes = {{parameters, 0, rank.buffers[parameters.index()].elements}};
  return {"start", 0, 0, 1, {op}, {}};
}

// The first op of a kind in each training program, which its lane's later ones follow, comes after what the instance before it
// sent and received.
void order_after_start(plan::Program& program, plan::LaneId comm) {
  for (const OpKind kind : {OpKind::forward, OpKind::update}) {
    const auto first = std::find_if(program.ops.begin(), program.ops.end(), [&](const Op& op) { return op.kind == kind; });
    if (first != program.ops.end()) first->after.push_back({comm, plan::Dependency::end, 1});
  }
}

plan::RankPlan with_start(plan::RankPlan rank) {
  const auto at = std::find_if(rank.lanes.begin(), rank.lanes.end(), [](const plan::Lane& lane) { return lane.kind == plan::LaneKind::comm; });
  if (at == rank.lanes.end()) return rank;  // a rank alone
  const plan::LaneId comm(static_cast<std::size_t>(at - rank.lanes.begin()));
  const plan::BufferId parameters = rank.buffer("params");
  rank.buffers[parameters.index()].shared = true;  // peers read them in place
  for (plan::Program& program : rank.programs)
    if (plan::purpose(program.name) == plan::Purpose::training) order_after_start(program, comm);
  rank.programs.push_back(broadcast_of(parameters, rank, comm));
  return rank;
}

}  // namespace

base::Result<plan::Plan> ddp(const experiment::Resolved& experiment) {
  return mirrored(experiment).map([](plan::Plan plan) {
    plan.rank_plan = [replica = plan.rank_plan](std::int32_t rank) { return with_start(replica(rank)); };
    return plan;
  });
}

}  // namespace trainyard::strategy
