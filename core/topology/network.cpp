// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/topology/network.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <tuple>

namespace trainyard::topology {
namespace {

// Converts a latency. Sums of integer picoseconds are exact, so that routes with equal latency
// compare equal and the number of hops decides.
std::int64_t picoseconds(double seconds) { return std::llround(seconds * 1e12); }

}  // namespace

Network::Network(const Topology& topology) : topology_(topology) {
  const auto add_node = [&](const std::string& name) {
    nodes_.push_back(name);
    neighbors_.emplace_back();
    return static_cast<int>(nodes_.size()) - 1;
  };
  const auto add_edge = [&](Edge edge, int from, int to) {
    const EdgeId id(edges_.size());
    edges_.push_back(std::move(edge));
    neighbors_[static_cast<std::size_t>(from)].push_back({id, to});
    neighbors_[static_cast<std::size_t>(to)].push_back({id, from});
  };
  for (std::size_t h = 0; h < topology_.hosts.size(); ++h) {
    const Host& host = topology_.hosts[h];
    const int host_node = add_node(host.name);
    for (const Device& device : host.devices) {
      const int device_node = add_node(device.name);
      devices_.push_back({&device, &host, static_cast<int>(h)});
      device_nodes_.push_back(device_node);
      // A transfer over the bus uses two attachments, so each attachment has half the latency of
      // the bus.
      add_edge({device.name, host.name, host.bus_bandwidth_bits_per_second,
                host.bus_latency_seconds / 2, -1},
               device_node, host_node);
    }
  }
  for (const Switch& s : topology_.switches) add_node(s.name);
  for (std::size_t l = 0; l < topology_.links.size(); ++l) {
    const Link& link = topology_.links[l];
    const int from = node(link.from), to = node(link.to);
    if (from >= 0 && to >= 0)
      add_edge({link.from, link.to, link.bandwidth_bits_per_second, link.latency_seconds,
                static_cast<int>(l)},
               from, to);
  }
}

int Network::node(const std::string& name) const {
  const auto at = std::find(nodes_.begin(), nodes_.end(), name);
  return at == nodes_.end() ? -1 : static_cast<int>(at - nodes_.begin());
}

std::vector<DeviceId> Network::with_role(Role role) const {
  std::vector<DeviceId> list;
  for (std::size_t d = 0; d < devices_.size(); ++d)
    if (devices_[d].device->role == role) list.emplace_back(d);
  return list;
}

std::vector<DeviceId> Network::workers() const {
  std::vector<DeviceId> list;
  for (std::size_t d = 0; d < devices_.size(); ++d)
    if (works(*devices_[d].device)) list.emplace_back(d);
  return list;
}

std::vector<DeviceId> Network::ranks() const {
  std::vector<DeviceId> list;
  for (int one = 0; one < kRankClasses; ++one)
    for (std::size_t d = 0; d < devices_.size(); ++d)
      if (rank_class(devices_[d].device->role) == one) list.emplace_back(d);
  return list;
}

base::Result<Route> Network::route(DeviceId from, DeviceId to) const {
  Route route;
  route.bandwidth_bits_per_second = std::numeric_limits<double>::infinity();
  if (from == to) return route;

  // Dijkstra's algorithm with costs (latency, hops, node).
  constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  struct Reached {
    std::int64_t latency = kNever;
    int hops = 0;
    int before = -1;
    EdgeId edge;
  };
  std::vector<Reached> reached(nodes_.size());
  using Entry = std::tuple<std::int64_t, int, int>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  const int start = device_nodes_[from.index()], goal = device_nodes_[to.index()];
  reached[static_cast<std::size_t>(start)] = {0, 0, -1, {}};
  open.emplace(0, 0, start);
  while (!open.empty()) {
    const auto [latency, hops, at] = open.top();
    open.pop();
    if (at == goal) break;
    if (std::tie(latency, hops) > std::tie(reached[static_cast<std::size_t>(at)].latency,
                                           reached[static_cast<std::size_t>(at)].hops))
      continue;
    for (const Neighbor& next : neighbors_[static_cast<std::size_t>(at)]) {
      Reached& known = reached[static_cast<std::size_t>(next.node)];
      const std::int64_t new_latency =
          latency + picoseconds(edges_[next.edge.index()].latency_seconds);
      const int new_hops = hops + 1;
      if (std::tie(new_latency, new_hops) >= std::tie(known.latency, known.hops)) continue;
      known = {new_latency, new_hops, at, next.edge};
      open.emplace(new_latency, new_hops, next.node);
    }
  }
  if (reached[static_cast<std::size_t>(goal)].before < 0)
    return base::fail(
        {"no_route", base::ProblemCode::bad_input, "topology.links",
         fmt::format("there is no route from {} to {}", device(from).name, device(to).name),
         "links that connect every worker",
         "Draw a link between their hosts, directly or through a switch (in the workbench: Edit > "
         "Connect)."});
  for (int at = goal; at != start; at = reached[static_cast<std::size_t>(at)].before) {
    const EdgeId id = reached[static_cast<std::size_t>(at)].edge;
    const Edge& edge = edges_[id.index()];
    route.hops.push_back({id, edge.to == nodes_[static_cast<std::size_t>(at)]});
    route.latency_seconds += edge.latency_seconds;
    route.bandwidth_bits_per_second =
        std::min(route.bandwidth_bits_per_second, edge.bandwidth_bits_per_second);
  }
  std::reverse(route.hops.begin(), route.hops.end());
  return route;
}

}  // namespace trainyard::topology
