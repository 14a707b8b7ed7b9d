// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/topology/network.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <limits>
#include <queue>
#include <utility>

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
    connect(from, id, to);
    connect(to, id, from);
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

void Network::connect(int node, EdgeId edge, int neighbor) {
  auto& neighbors = neighbors_[static_cast<std::size_t>(node)];
  auto at = std::ranges::find(neighbors, neighbor, &Neighbor::node);
  if (at == neighbors.end()) at = neighbors.insert(neighbors.end(), Neighbor{neighbor, {}, 0, 0});
  const Edge& added = edges_[edge.index()];
  at->edges.push_back(edge);
  at->latency_picoseconds = std::max(at->latency_picoseconds, picoseconds(added.latency_seconds));
  at->bandwidth_bits_per_second += added.bandwidth_bits_per_second;
}

// Least latency and number of hops from a start to a node.
struct Network::Distance {
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  std::int64_t latency = kNever;
  int hops = 0;
  bool reached() const { return latency != kNever; }
  auto operator<=>(const Distance&) const = default;
};

// Dijkstra's algorithm with costs (latency, hops). Edges have the same cost in both directions.
std::vector<Network::Distance> Network::distances(int start) const {
  std::vector<Distance> reached(nodes_.size());
  using Entry = std::pair<Distance, int>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  reached[static_cast<std::size_t>(start)] = {0, 0};
  open.emplace(Distance{0, 0}, start);
  while (!open.empty()) {
    const auto [distance, at] = open.top();
    open.pop();
    if (distance > reached[static_cast<std::size_t>(at)]) continue;
    for (const Neighbor& next : neighbors_[static_cast<std::size_t>(at)]) {
      const Distance further{distance.latency + next.latency_picoseconds, distance.hops + 1};
      Distance& known = reached[static_cast<std::size_t>(next.node)];
      if (further >= known) continue;
      known = further;
      open.emplace(further, next.node);
    }
  }
  return reached;
}

// Returns the nodes on the shortest routes to the goal, by increasing distance from the start.
std::vector<int> Network::nodes_between(const std::vector<Distance>& from_start,
                                        const std::vector<Distance>& to_goal, int goal) const {
  const Distance total = from_start[static_cast<std::size_t>(goal)];
  std::vector<int> nodes;
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    const Distance before = from_start[node], after = to_goal[node];
    if (before.reached() && after.reached() &&
        Distance{before.latency + after.latency, before.hops + after.hops} == total)
      nodes.push_back(static_cast<int>(node));
  }
  std::ranges::stable_sort(
      nodes, {}, [&](int node) { return from_start[static_cast<std::size_t>(node)].hops; });
  return nodes;
}

namespace {

// Links from a node to nodes further on the shortest routes.
struct Onward {
  int to = 0;  // position of the next node on the route
  const std::vector<EdgeId>* edges = nullptr;
  double bandwidth = 0;
};

// Finds the routes with the most bandwidth in a graph whose nodes 0 to n - 1 are in topological
// order, from node 0 to node n - 1.
class WidestRoutes {
 public:
  explicit WidestRoutes(std::vector<std::vector<Onward>> onward) : onward_(std::move(onward)) {
    const std::size_t nodes = onward_.size();
    std::vector<double> widest(nodes, 0);
    widest[0] = std::numeric_limits<double>::infinity();
    for (std::size_t node = 0; node < nodes; ++node)
      for (const Onward& next : onward_[node]) {
        double& known = widest[static_cast<std::size_t>(next.to)];
        known = std::max(known, std::min(widest[node], next.bandwidth));
      }
    // A route is among the widest if all its links have at least the bandwidth of the widest one.
    for (auto& nexts : onward_)
      std::erase_if(nexts, [&](const Onward& next) { return next.bandwidth < widest.back(); });
    routes_to_goal_.resize(nodes, 0);
    routes_to_goal_.back() = 1;
    for (std::size_t node = nodes - 1; node-- > 0;)
      for (const Onward& next : onward_[node])
        routes_to_goal_[node] += routes_to_goal_[static_cast<std::size_t>(next.to)];
  }

  // Calls visit(node, next, begin, end) for each link of the widest routes. [begin, end) is the
  // part of the message at the node that takes it, so that all routes get the same part.
  template <class Visit>
  void visit(const Visit& visit) const {
    for (std::size_t node = 0; node < onward_.size(); ++node) {
      double before = 0;
      for (const Onward& next : onward_[node]) {
        const double routes = routes_to_goal_[static_cast<std::size_t>(next.to)];
        if (routes == 0) continue;
        visit(static_cast<int>(node), next, before / routes_to_goal_[node],
              (before + routes) / routes_to_goal_[node]);
        before += routes;
      }
    }
  }

 private:
  std::vector<std::vector<Onward>> onward_;
  std::vector<double> routes_to_goal_;  // number of routes from the node
};

std::int32_t in_shares(double part) {
  return static_cast<std::int32_t>(std::lround(part * kFullShare));
}

}  // namespace

Route Network::split_route(const std::vector<Distance>& from_start,
                           const std::vector<Distance>& to_goal, int start, int goal) const {
  const std::vector<int> nodes = nodes_between(from_start, to_goal, goal);
  std::vector<int> position(nodes_.size(), -1);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    position[static_cast<std::size_t>(nodes[i])] = static_cast<int>(i);
  std::vector<std::vector<Onward>> onward(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Distance here = from_start[static_cast<std::size_t>(nodes[i])];
    for (const Neighbor& next : neighbors_[static_cast<std::size_t>(nodes[i])]) {
      const Distance there{here.latency + next.latency_picoseconds, here.hops + 1};
      const int to = position[static_cast<std::size_t>(next.node)];
      if (to >= 0 && there == from_start[static_cast<std::size_t>(next.node)])
        onward[i].push_back({to, &next.edges, next.bandwidth_bits_per_second});
    }
  }
  Route route;
  route.latency_seconds =
      static_cast<double>(from_start[static_cast<std::size_t>(goal)].latency) * 1e-12;
  route.bandwidth_bits_per_second = std::numeric_limits<double>::infinity();
  std::vector<double> arriving(nodes.size(), 0);  // share of the message at each node
  arriving[static_cast<std::size_t>(position[static_cast<std::size_t>(start)])] = 1;
  WidestRoutes(std::move(onward))
      .visit([&](int node, const Onward& next, double begin, double end) {
        const double at_node = arriving[static_cast<std::size_t>(node)];
        arriving[static_cast<std::size_t>(next.to)] += at_node * (end - begin);
        double before = 0;
        for (const EdgeId id : *next.edges) {
          const Edge& edge = edges_[id.index()];
          const double part = edge.bandwidth_bits_per_second / next.bandwidth;
          Hop hop{id,
                  edge.to ==
                      nodes_[static_cast<std::size_t>(nodes[static_cast<std::size_t>(next.to)])]};
          hop.share = std::max(in_shares(at_node * (end - begin) * part), 1);
          hop.from = node, hop.to = next.to;
          hop.begin = in_shares(begin + (end - begin) * before);
          hop.end = in_shares(begin + (end - begin) * (before + part));
          before += part;
          route.splits = route.splits || hop.share != kFullShare;
          route.bandwidth_bits_per_second =
              std::min(route.bandwidth_bits_per_second,
                       edge.bandwidth_bits_per_second * kFullShare / hop.share);
          route.hops.push_back(hop);
        }
      });
  return route;
}

base::Result<Route> Network::route(DeviceId from, DeviceId to) const {
  if (from == to) return Route{{}, 0, std::numeric_limits<double>::infinity(), false};
  const int start = device_nodes_[from.index()], goal = device_nodes_[to.index()];
  const std::vector<Distance> from_start = distances(start);
  if (!from_start[static_cast<std::size_t>(goal)].reached())
    return base::fail(
        {"no_route", base::ProblemCode::bad_input, "topology.links",
         fmt::format("there is no route from {} to {}", device(from).name, device(to).name),
         "links that connect every worker",
         "Draw a link between their hosts, directly or through a switch (in the workbench: Edit > "
         "Connect)."});
  return split_route(from_start, distances(goal), start, goal);
}

std::vector<std::int64_t> bytes_of_hops(const Route& route, std::int64_t message_bytes) {
  std::vector<std::int64_t> bytes(route.hops.size(), message_bytes);
  if (!route.splits) return bytes;
  std::vector<std::int64_t> at_node{message_bytes};
  for (std::size_t i = 0; i < route.hops.size(); ++i) {
    const Hop& hop = route.hops[i];
    at_node.resize(std::max(at_node.size(), static_cast<std::size_t>(hop.to) + 1));
    const std::int64_t here = at_node[static_cast<std::size_t>(hop.from)];
    bytes[i] = part_of(here, hop.end) - part_of(here, hop.begin);
    at_node[static_cast<std::size_t>(hop.to)] += bytes[i];
  }
  return bytes;
}

}  // namespace trainyard::topology
