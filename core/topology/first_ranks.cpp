// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/topology/first_ranks.h"

#include <algorithm>
#include <set>

#include "core/topology/network.h"

namespace trainyard::topology {
namespace {

using Names = std::set<std::string>;

void add_route(Names& names, const Network& network, DeviceId from, DeviceId to) {
  const auto route = network.route(from, to);
  if (!route) return;
  for (const Hop& hop : route->hops)
    names.insert({network.edges()[hop.edge.index()].from, network.edges()[hop.edge.index()].to});
}

// Returns the names of all hosts, devices, switches and links on the routes between these devices.
// Between two hosts, the route of one device of each host is enough, because all devices reach
// other hosts over their host's bus. Devices of one host are connected by links drawn between them,
// or else by the bus.
Names on_routes(const Network& network, const std::vector<DeviceId>& devices) {
  Names names, all_devices;
  for (int device = 0; device < network.devices(); ++device)
    all_devices.insert(network.device(DeviceId(static_cast<std::size_t>(device))).name);
  const bool linked = std::ranges::any_of(network.edges(), [&](const Edge& edge) {
    return edge.link >= 0 && all_devices.contains(edge.from);
  });
  std::vector<DeviceId> first_of_host;
  for (const DeviceId device : devices) {
    names.insert({network.device(device).name, network.host(device).name});
    for (const DeviceId other : linked ? devices : std::vector<DeviceId>())
      if (network.host_index(other) == network.host_index(device))
        add_route(names, network, device, other);
    const bool known = std::ranges::any_of(first_of_host, [&](DeviceId first) {
      return network.host_index(first) == network.host_index(device);
    });
    if (!known) first_of_host.push_back(device);
  }
  for (const DeviceId from : first_of_host)
    for (const DeviceId to : first_of_host) add_route(names, network, from, to);
  return names;
}

}  // namespace

Topology first_ranks(const Topology& drawn, std::int64_t ranks) {
  const Network network(drawn);
  std::vector<DeviceId> kept = network.workers();
  kept.resize(std::min(kept.size(), static_cast<std::size_t>(ranks)));
  Names working;
  for (const DeviceId device : kept) working.insert(network.device(device).name);
  const Names names = on_routes(network, kept);
  const auto gone = [&](const auto& thing) { return !names.contains(thing.name); };
  Topology cut = drawn;
  std::erase_if(cut.hosts, gone);
  std::erase_if(cut.switches, gone);
  std::erase_if(cut.links, [&](const Link& link) {
    return !names.contains(link.from) || !names.contains(link.to);
  });
  for (Host& host : cut.hosts) {
    std::erase_if(host.devices, gone);
    for (Device& device : host.devices)
      if (!working.contains(device.name)) device.role = Role::idle;
  }
  return cut;
}

}  // namespace trainyard::topology
