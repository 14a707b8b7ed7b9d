// SPDX-License-Identifier: GPL-3.0-or-later
// Drawings of links for tests.
#pragma once

#include <string>

#include "core/comm/drawn_links.h"

namespace trainyard::comm {

// One host with `ranks` devices: a way out of each and a way into each.
inline topology::Topology one_host(int ranks, double bits_per_second, double latency_seconds) {
  topology::Topology drawing;
  drawing.hosts.push_back({.name = "host", .address = "", .devices = {}});
  for (int rank = 0; rank < ranks; ++rank)
    drawing.hosts[0].devices.push_back({.name = "cpu" + std::to_string(rank)});
  drawing.hosts[0].bus_bandwidth_bits_per_second = bits_per_second;
  drawing.hosts[0].bus_latency_seconds = latency_seconds;
  return drawing;
}

// Hosts of one device each, in a row of links; their busses are far wider and take no time.
inline topology::Topology chain(const std::vector<topology::Link>& links) {
  topology::Topology drawing;
  for (std::size_t h = 0; h <= links.size(); ++h) {
    topology::Host host{
        .name = std::string(1, static_cast<char>('a' + h)), .address = "", .devices = {}};
    host.devices.push_back({.name = host.name + "0"});
    host.bus_bandwidth_bits_per_second = 1e15;
    host.bus_latency_seconds = 0;
    drawing.hosts.push_back(host);
  }
  drawing.links = links;
  return drawing;
}

inline DrawnLinks links_of(const topology::Topology& drawing) {
  return drawn_links(topology::Network(drawing)).value();
}

}  // namespace trainyard::comm
