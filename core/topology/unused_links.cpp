// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/topology/unused_links.h"

#include <algorithm>
#include <set>

namespace trainyard::topology {
namespace {

// Returns ranks whose routes use every link that some route uses. Between two hosts, the route of
// one rank of each host is enough, because all devices reach other hosts over their host's bus. If
// links are drawn between devices, returns all ranks.
std::vector<DeviceId> representatives(const Network& network) {
  const std::vector<DeviceId> ranks = network.ranks();
  std::set<std::string> devices;
  for (int device = 0; device < network.devices(); ++device)
    devices.insert(network.device(DeviceId(static_cast<std::size_t>(device))).name);
  const bool linked = std::ranges::any_of(network.edges(), [&](const Edge& edge) {
    return edge.link >= 0 && devices.contains(edge.from);
  });
  if (linked) return ranks;
  std::vector<DeviceId> first_of_host;
  std::set<int> hosts;
  for (const DeviceId rank : ranks)
    if (hosts.insert(network.host_index(rank)).second) first_of_host.push_back(rank);
  return first_of_host;
}

}  // namespace

std::vector<int> unused_links(const Network& network) {
  std::set<int> unused;
  for (const Edge& edge : network.edges())
    if (edge.link >= 0) unused.insert(edge.link);
  const std::vector<DeviceId> ranks = representatives(network);
  for (const DeviceId from : ranks)
    for (const DeviceId to : ranks) {
      if (unused.empty()) return {};
      if (const auto route = network.route(from, to); route)
        for (const Hop& hop : route->hops) unused.erase(network.edges()[hop.edge.index()].link);
    }
  return {unused.begin(), unused.end()};
}

}  // namespace trainyard::topology
