// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/collective/engine_cost.h"

#include <algorithm>
#include <bit>

#include "core/plan/engine_lane.h"

namespace trainyard::collective {
namespace {

base::Result<double> tree_seconds(const Work& work, const topology::Network& network) {
  double slowest = 0;
  for (const topology::DeviceId from : work.devices)
    for (const topology::DeviceId to : work.devices) {
      if (from == to) continue;
      const auto route = network.route(from, to);
      if (!route) return base::fail(route.error());
      double crossing = 0;
      for (const topology::Hop& hop : route->hops)
        crossing = std::max(
            crossing, 8 * static_cast<double>(work.bytes()) * hop.share / topology::kFullShare /
                          network.edges()[hop.edge.index()].bandwidth_bits_per_second);
      slowest = std::max(slowest, route->latency_seconds + crossing);
    }
  return slowest * static_cast<double>(std::bit_width(work.devices.size() - 1));
}

}  // namespace

base::Result<double> engine_seconds(Collective collective, const Work& work,
                                    const topology::Network& network) {
  if (work.devices.size() < 2) return 0.0;
  const bool ring = collective == Collective::all_reduce || is_sharded(collective);
  if (!ring || collective == Collective::scatter || collective == Collective::gather)
    return tree_seconds(work, network);
  return cost(Algorithm::ring, 0, work, network).map([&](const Cost& cost) {
    return collective == Collective::all_reduce ? cost.seconds : cost.seconds / 2;
  });
}

std::int64_t engine_bytes(const plan::Op& op, const plan::RankPlan& rank,
                          const std::vector<plan::Group>& groups) {
  if (!plan::coarse(op.kind) || plan::engine_of(rank.lanes[op.lane.index()]).empty()) return 0;
  const plan::Group& group = groups[static_cast<std::size_t>(op.group)];
  const plan::Access& bucket = op.writes.front();
  const std::int64_t bytes =
                         bucket.count * base::size_of(rank.buffers[bucket.buffer.index()].dtype),
                     members = std::ssize(group.ranks);
  const int root = op.peer < 0 ? 0 : group.position(op.peer);
  switch (op.kind) {
    case plan::OpKind::all_reduce: return 2 * (members - 1) * bytes / members;
    case plan::OpKind::reduce_scatter:
    case plan::OpKind::all_gather: return (members - 1) * bytes / members;
    case plan::OpKind::broadcast:
      return (group.position(rank.rank) + 1) % members == root ? 0 : bytes;
    default: return 0;
  }
}

std::int64_t step_engine_bytes(const plan::RankPlan& rank, const std::vector<plan::Group>& groups,
                               const plan::Schedule& schedule) {
  const plan::Program* program = step_program(rank, schedule);
  std::int64_t bytes = 0;
  if (program != nullptr)
    for (const plan::Op& op : program->ops) bytes += engine_bytes(op, rank, groups);
  const std::int64_t steps = std::max<std::int64_t>(schedule.local_steps, 1);
  return (bytes + steps / 2) / steps;
}

}  // namespace trainyard::collective
