// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/strategy/evaluated_state.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "core/experiment/state_groups.h"
#include "core/strategy/edit.h"
#include "core/strategy/lanes.h"

namespace trainyard::strategy {
namespace {

using plan::Dependency;
using plan::LaneId;
using plan::Op;

constexpr const char* kRunning = "running";

// Makes a program wait for the lane, which has ops only in "evaluate_state": its first load,
// because earlier compute ops read the samples, and its first op that accesses the running
// statistics. Later ops follow these two on their lanes.
void wait_for(LaneId lane, const plan::Access& running, plan::Program& program) {
  const auto order = [&](auto is) {
    const auto first = std::ranges::find_if(program.ops, is);
    if (first != program.ops.end()) first->after.push_back({lane, Dependency::end, 1});
  };
  const auto accesses = [&](const std::vector<plan::Access>& list) {
    return std::ranges::count(list, running.buffer, &plan::Access::buffer) > 0;
  };
  order([](const Op& op) { return op.lane == kInput; });
  order([&](const Op& op) {
    return op.lane == kCompute && (accesses(op.reads) || accesses(op.writes));
  });
}

plan::RankPlan with_program(plan::RankPlan rank, std::int32_t group, std::int32_t root) {
  const LaneId lane = add_comm_lane(rank, group);
  const plan::Access running = whole(rank, kRunning);
  for (plan::Program& program : rank.programs) wait_for(lane, running, program);
  rank.buffers[running.buffer.index()].shared = true;  // peers read the statistics in place
  Op op = rooted(plan::OpKind::broadcast, lane, group, 0, root, running);
  op.after = {{kCompute, Dependency::end, 1}};
  rank.programs.push_back({plan::kEvaluationPrograms[0], 0, 0, 1, {std::move(op)}, {}});
  return rank;
}

}  // namespace

plan::Plan with_evaluated_state(plan::Plan plan, const experiment::Resolved& experiment) {
  struct Member {
    std::int32_t group, root;
  };
  std::map<std::int32_t, Member> members;
  for (const experiment::StateGroup& group : experiment::state_groups(experiment)) {
    // the storage of central_storage takes no samples, so it has no running statistics
    std::vector<std::int32_t> ranks(group.ranks.begin(), group.ranks.end());
    std::erase_if(
        ranks, [&](std::int32_t rank) { return !plan.rank_plan(rank).buffer(kRunning).valid(); });
    if (ranks.size() < 2 || std::ranges::count(ranks, group.root) == 0) continue;
    for (const std::int32_t rank : ranks)
      members[rank] = {static_cast<std::int32_t>(plan.groups.size()), group.root};
    plan.groups.push_back({std::move(ranks)});
  }
  if (members.empty()) return plan;
  plan.rank_plan = [made = std::move(plan.rank_plan), members](std::int32_t number) {
    const auto member = members.find(number);
    plan::RankPlan rank = made(number);
    return member == members.end()
               ? rank
               : with_program(std::move(rank), member->second.group, member->second.root);
  };
  return plan;
}

}  // namespace trainyard::strategy
