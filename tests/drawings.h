// SPDX-License-Identifier: GPL-3.0-or-later
// Topologies to draw upon.
#pragma once

#include <string>

#include "core/topology/topology.h"

namespace trainyard::tests {

// cpu<first>, cpu<first + 1>, ...
inline topology::Host drawn_host(const std::string& name, int devices, int first = 0) {
  topology::Host host;
  host.name = name;
  for (int i = first; i < first + devices; ++i) {
    topology::Device device;
    device.name = "cpu" + std::to_string(i);
    host.devices.push_back(device);
  }
  return host;
}

}  // namespace trainyard::tests
