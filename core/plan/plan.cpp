// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/plan.h"

#include <algorithm>
#include <memory>

namespace trainyard::plan {
namespace {

template <class Things>
std::ptrdiff_t index_by_name(const Things& things, std::string_view name) {
  const auto at = std::find_if(things.begin(), things.end(), [&](const auto& thing) { return thing.name == name; });
  return at == things.end() ? -1 : at - things.begin();
}

}  // namespace

BufferId RankPlan::buffer(std::string_view name) const { return BufferId(static_cast<std::int32_t>(index_by_name(buffers, name))); }
int RankPlan::program(std::string_view name) const { return static_cast<int>(index_by_name(programs, name)); }

int Group::position(std::int32_t rank) const {
  const auto at = std::find(ranks.begin(), ranks.end(), rank);
  return at == ranks.end() ? -1 : static_cast<int>(at - ranks.begin());
}

std::string_view Schedule::program(std::int64_t step) const {
  const std::int64_t epoch_steps = full_steps_per_epoch + (tail ? 1 : 0);
  return tail && step % epoch_steps == full_steps_per_epoch ? "tail" : "train";
}

bool Schedule::evaluates_after(std::int64_t step) const { return evaluate_every_steps > 0 && ((step + 1) % evaluate_every_steps == 0 || step + 1 == steps); }

Plan from_ranks(std::vector<Group> groups, Schedule schedule, std::vector<RankPlan> ranks) {
  const auto all = std::make_shared<const std::vector<RankPlan>>(std::move(ranks));
  return {static_cast<std::int32_t>(all->size()), std::move(groups), schedule, [all](std::int32_t rank) { return (*all)[static_cast<std::size_t>(rank)]; }};
}

bool reads_peers(OpKind kind) { return kind == OpKind::recv || kind == OpKind::recv_reduce || kind == OpKind::reduce_many; }
bool communicates(OpKind kind) { return kind == OpKind::all_reduce || kind == OpKind::send || reads_peers(kind); }

}  // namespace trainyard::plan
