// SPDX-License-Identifier: GPL-3.0-or-later
// Hosts of some devices around one switch, and what a collective of all of them costs there.
#pragma once

#include "core/collective/cost.h"

namespace trainyard::collective {

inline constexpr double kBandwidth = 8e9;  // bit/s: a byte takes 1 ns
inline constexpr double kLatency = 1e-4;   // of a way into or out of the switch

// Bottlenecks: busses or links have the given speed, or take no time.
struct Speeds {
  double link_bits_per_second = kBandwidth, bus_bits_per_second = 1e15;
  double memory_bytes_per_second = 1e16;
};

// `hosts` with `devices` each.
inline topology::Topology star_of(int hosts, int devices, const Speeds& speeds = {}) {
  topology::Topology drawing;
  drawing.switches.push_back({"switch", 0, 0});
  for (int h = 0; h < hosts; ++h) {
    topology::Host host;
    host.name = "host" + std::to_string(h);
    host.bus_bandwidth_bits_per_second = speeds.bus_bits_per_second;
    host.bus_latency_seconds = 0;
    for (int d = 0; d < devices; ++d) {
      topology::Device device;
      device.name = "cpu" + std::to_string(h) + "." + std::to_string(d);
      device.memory_bandwidth_bytes_per_second = speeds.memory_bytes_per_second;
      host.devices.push_back(device);
    }
    drawing.hosts.push_back(host);
    drawing.links.push_back({host.name, "switch", speeds.link_bits_per_second, kLatency});
  }
  return drawing;
}

struct Drawn {
  Drawn(int hosts, int devices, const Speeds& speeds = {})
      : network(star_of(hosts, devices, speeds)), work{0, 4, network.workers(), {}} {
    for (const topology::DeviceId device : work.devices)
      work.hosts.push_back(network.host_index(device));
  }
  Cost of(Algorithm algorithm, std::int64_t elements, std::int64_t segment_bytes = 0) {
    work.elements = elements;
    return cost(algorithm, segment_bytes, work, network).value();
  }
  topology::Network network;
  Work work;
};

inline constexpr double kByte = 8 / kBandwidth;  // seconds

}  // namespace trainyard::collective
