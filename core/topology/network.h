// SPDX-License-Identifier: GPL-3.0-or-later
// The drawing as a graph: devices are attached to their host's bus, hosts and switches to links.
// Rank r is the r-th device with the role worker, in drawing order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/topology/message_shares.h"
#include "core/topology/topology.h"

namespace trainyard::topology {

struct DeviceTag;
struct EdgeTag;
using DeviceId = base::Id<DeviceTag>;
using EdgeId = base::Id<EdgeTag>;

// An edge of the graph: a drawn link, or a device's attachment to its host's bus.
struct Edge {
  std::string from, to;
  double bandwidth_bits_per_second = 0;
  double latency_seconds = 0;
  int link = -1;  // index in Topology::links; -1: attachment to a bus
};

struct Hop {
  EdgeId edge;
  bool forward = true;              // true: the hop leads from Edge::from to Edge::to
  std::int32_t share = kFullShare;  // share of the message that takes this hop
  // `from`, `to`: indices of the hop's nodes in the route; the sender has index 0. `begin`, `end`:
  // range of the message that takes this hop, in units of 1 / kFullShare of the message.
  int from = 0, to = 1;
  std::int32_t begin = 0, end = kFullShare;
};

// Way of a message from one device to another. A message is split over parallel links between two
// nodes in proportion to their bandwidths, and over equally good routes in equal parts.
struct Route {
  std::vector<Hop> hops;       // a hop comes after all hops that lead to its start
  double latency_seconds = 0;  // sum over the nodes passed; of parallel links, the largest latency
  // Largest rate of a message: minimum over the hops of bandwidth / share. Infinite for a route of
  // a device to itself.
  double bandwidth_bits_per_second = 0;
  bool splits = false;  // some hop does not carry the full message
};

// Returns the bytes of a message that take each hop of its route. At each node, the bytes that
// leave are those that arrive.
std::vector<std::int64_t> bytes_of_hops(const Route& route, std::int64_t message_bytes);

class Network {
 public:
  explicit Network(const Topology& topology);  // `topology` must be valid
  // not copyable, because devices_ points into topology_
  Network(Network&&) = default;
  Network& operator=(Network&&) = default;

  const std::vector<Edge>& edges() const { return edges_; }
  int devices() const { return static_cast<int>(devices_.size()); }
  const Device& device(DeviceId id) const { return *devices_[id.index()].device; }
  const Host& host(DeviceId id) const { return *devices_[id.index()].host; }
  int host_index(DeviceId id) const { return devices_[id.index()].host_index; }
  std::vector<DeviceId> with_role(Role role) const;  // returns devices in drawing order
  std::vector<DeviceId> workers() const;  // returns workers in drawing order, including the chief
  // returns devices by rank: workers, then servers, then evaluators
  std::vector<DeviceId> ranks() const;

  // Returns the route with the least latency; of several, those with the fewest hops; of these,
  // those with the most bandwidth. The message is split if several routes are left. The result does
  // not depend on the order of hosts, switches and links in the drawing. Devices of one host use
  // its bus, or a link drawn between them. If there is no route, returns a Problem that names both
  // devices.
  base::Result<Route> route(DeviceId from, DeviceId to) const;

 private:
  struct Placed {
    const Device* device;
    const Host* host;
    int host_index;
  };
  // All edges between two adjacent nodes. Their bandwidths add up.
  struct Neighbor {
    int node = 0;
    std::vector<EdgeId> edges;
    std::int64_t latency_picoseconds = 0;  // largest latency of the edges
    double bandwidth_bits_per_second = 0;  // sum over the edges
  };
  struct Distance;
  int node(const std::string& name) const;
  void connect(int node, EdgeId edge, int neighbor);
  std::vector<Distance> distances(int start) const;
  std::vector<int> nodes_between(const std::vector<Distance>& from_start,
                                 const std::vector<Distance>& to_goal, int goal) const;
  Route split_route(const std::vector<Distance>& from_start, const std::vector<Distance>& to_goal,
                    int start, int goal) const;

  Topology topology_;
  std::vector<Placed> devices_;
  std::vector<Edge> edges_;
  std::vector<std::string> nodes_;
  std::vector<std::vector<Neighbor>> neighbors_;
  std::vector<int> device_nodes_;
};

}  // namespace trainyard::topology
