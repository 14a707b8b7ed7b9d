// SPDX-License-Identifier: GPL-3.0-or-later
// Hosts and links by their names alone; a way over a bus takes a microsecond from or to a device.
#pragma once

#include <initializer_list>
#include <string>

#include "core/topology/topology.h"

namespace trainyard::topology {

inline Host host(std::string name, std::initializer_list<std::string> devices) {
  Host made;
  made.name = std::move(name);
  for (const std::string& device : devices) made.devices.push_back({.name = device});
  made.bus_bandwidth_bits_per_second = 80e9;
  made.bus_latency_seconds = 2e-6;
  return made;
}

inline Link link(std::string from, std::string to, double bandwidth = 10e9,
                 double latency = 50e-6) {
  return {.from = std::move(from),
          .to = std::move(to),
          .bandwidth_bits_per_second = bandwidth,
          .latency_seconds = latency};
}

}  // namespace trainyard::topology
