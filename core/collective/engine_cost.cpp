// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/collective/engine_cost.h"

#include <algorithm>
#include <bit>

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
        crossing = std::max(crossing, 8 * static_cast<double>(work.bytes()) / network.edges()[hop.edge.index()].bandwidth_bits_per_second);
      slowest = std::max(slowest, route->latency_seconds + crossing);
    }
  return slowest * static_cast<double>(std::bit_width(work.devices.size() - 1));
}

}  // namespace

base::Result<double> engine_seconds(Collective collective, const Work& work, const topology::Network& network) {
  if (work.devices.size() < 2) return 0.0;
  const bool ring = collective == Collective::all_reduce || shares_out(collective);
  if (!ring || collective == Collective::scatter || collective == Collective::gather) return tree_seconds(work, network);
  return cost(Algorithm::ring, 0, work, network).map([&](const Cost& cost) { return collective == Collective::all_reduce ? cost.seconds : cost.seconds / 2; });
}

}  // namespace trainyard::collective
