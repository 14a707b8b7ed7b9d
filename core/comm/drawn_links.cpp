// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/comm/drawn_links.h"

namespace trainyard::comm {
namespace {

base::Result<DrawnRoute> drawn_route(const topology::Network& network, topology::DeviceId from,
                                     topology::DeviceId to) {
  return network.route(from, to).map([&](const topology::Route& found) {
    DrawnRoute route;
    route.latency_seconds = found.latency_seconds;
    for (const topology::Hop& hop : found.hops)
      route.hops.push_back({2 * hop.edge.value + (hop.forward ? 0 : 1), hop.share});
    return route;
  });
}

}  // namespace

base::Result<DrawnLinks> drawn_links(const topology::Network& network) {
  return drawn_links(network, network.workers());
}

base::Result<DrawnLinks> drawn_links(const topology::Network& network,
                                     const std::vector<topology::DeviceId>& ranks) {
  DrawnLinks links;
  links.ranks = static_cast<int>(ranks.size());
  for (const topology::Edge& edge : network.edges())
    links.bits_per_second.insert(links.bits_per_second.end(), 2, edge.bandwidth_bits_per_second);
  for (const topology::DeviceId from : ranks)
    for (const topology::DeviceId to : ranks) {
      auto route = drawn_route(network, from, to);
      if (!route) return base::fail(route.error());
      links.routes.push_back(std::move(*route));
    }
  return links;
}

}  // namespace trainyard::comm
