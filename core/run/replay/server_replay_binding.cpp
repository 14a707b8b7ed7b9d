// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/replay/server_replay_binding.h"

#include <algorithm>

#include "core/plan/buffer_names.h"

namespace trainyard::run {
namespace {

using plan::OpKind;

std::int64_t rounded(std::int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

const plan::Op* of_bucket(const plan::Program& program, OpKind kind, int bucket) {
  const auto found = std::ranges::find_if(
      program.ops, [&](const plan::Op& op) { return op.kind == kind && op.bucket == bucket; });
  return found == program.ops.end() ? nullptr : &*found;
}

// Returns the server's memory for a worker's parameters, if the worker can use it in place. This
// requires a single server, and a worker that only reads its parameters. The worker then needs no
// copy, because it computes immediately after the server gives it parameters, before the next
// update. Updates are made in place, in the server's first version slot.
SharedBuffer parameters_in_place(const plan::RankPlan& worker, const BoundRank& server) {
  const plan::BufferId parameters = worker.buffer("params"),
                       version = server.plan.buffer(plan::version_name(0));
  const auto writes = [&](const plan::Op& op) {
    return std::ranges::any_of(op.writes,
                               [&](const plan::Access& to) { return to.buffer == parameters; });
  };
  const auto pulls_in_place = [&](const plan::Op& op) {
    if (op.kind != OpKind::pull) return false;
    for (const char* name : {"answer", "named"}) {
      const int number = server.plan.program(name);
      const plan::Op* const gives =
          number < 0 ? nullptr
                     : of_bucket(server.plan.programs[static_cast<std::size_t>(number)],
                                 OpKind::give, op.bucket);
      if (gives != nullptr && gives->reads.front().buffer == version)
        return gives->reads.front().first == op.writes.front().first;
    }
    return false;
  };
  for (const plan::Program& program : worker.programs)
    for (const plan::Op& op : program.ops)
      if (writes(op) && !pulls_in_place(op)) return {};
  return {parameters, server.bound.versions.front().data};
}

}  // namespace

base::Result<void> SharedMemory::make(const plan::Plan& plan, compute::Compute& compute) {
  for (int rank = 0; rank < plan.ranks; ++rank)
    all_bytes += rounded(layout(plan.rank_plan(rank)).shared_bytes);
  return compute.allocate(all_bytes, "the ranks").map([&](compute::Memory made) {
    memory = std::move(made);
  });
}

std::span<std::byte> SharedMemory::take(std::int64_t bytes) {
  return {memory.get() + std::exchange(taken, taken + rounded(bytes)),
          static_cast<std::size_t>(bytes)};
}

base::Result<void> bind_rank(BoundRank& to, const ServedTrainingParts& parts, int rank,
                             const BoundRank* beside, SharedMemory& shared,
                             const BoundRank* only_server) {
  to.plan = parts.plan->rank_plan(rank);
  const Layout places = layout(to.plan);
  to.shared = shared.take(places.shared_bytes);
  if (beside != nullptr && layout(beside->plan).private_bytes == places.private_bytes)
    to.own = beside->own;
  else shared.all_bytes += places.private_bytes;
  return bind(
      to, {&parts.plan->groups, parts.model, parts.recipe, parts.compute, &parts.offload_directory},
      only_server == nullptr ? SharedBuffer{} : parameters_in_place(to.plan, *only_server));
}

}  // namespace trainyard::run
