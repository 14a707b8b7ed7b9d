// SPDX-License-Identifier: GPL-3.0-or-later
// The drawing as a graph: devices are attached to their host's bus, hosts and switches to links.
// Rank r is the r-th device with the role worker, in drawing order.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
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
  bool forward = true;  // true: the hop leads from Edge::from to Edge::to
};

struct Route {
  std::vector<Hop> hops;
  double latency_seconds = 0;  // sum of the hops' latencies
  // bandwidth of the narrowest hop; infinite for a route of a device to itself
  double bandwidth_bits_per_second = 0;
};

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

  // Returns the route with the least latency; of several, one with the fewest hops. Devices of one
  // host use its bus, or a link drawn between them. If there is no route, returns a Problem that
  // names both devices.
  base::Result<Route> route(DeviceId from, DeviceId to) const;

 private:
  struct Placed {
    const Device* device;
    const Host* host;
    int host_index;
  };
  struct Neighbor {
    EdgeId edge;
    int node;
  };
  int node(const std::string& name) const;

  Topology topology_;
  std::vector<Placed> devices_;
  std::vector<Edge> edges_;
  std::vector<std::string> nodes_;
  std::vector<std::vector<Neighbor>> neighbors_;
  std::vector<int> device_nodes_;
};

}  // namespace trainyard::topology
