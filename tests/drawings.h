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

// `hosts` with `devices` each; where there are several, around a switch.
inline topology::Topology drawn_hosts(int hosts, int devices) {
  topology::Topology drawing;
  for (int h = 0; h < hosts; ++h)
    drawing.hosts.push_back(drawn_host("host" + std::to_string(h), devices, h * devices));
  if (hosts < 2) return drawing;
  drawing.switches.push_back({"switch", 0, 0});
  for (const topology::Host& host : drawing.hosts) drawing.links.push_back({host.name, "switch"});
  return drawing;
}

// The same with TPUs: tpu<i>.
inline topology::Topology drawn_tpus(int hosts, int devices) {
  topology::Topology drawing = drawn_hosts(hosts, devices);
  for (topology::Host& host : drawing.hosts)
    for (topology::Device& device : host.devices) {
      device.kind = topology::DeviceKind::tpu;
      device.name.replace(0, 3, "tpu");
    }
  return drawing;
}

// One host: gpu<i> that compute, and among them, as rank `storage`, the cpu that keeps the
// variables.
inline topology::Topology drawn_storage(int computing, int storage = 0) {
  topology::Host host = drawn_host("host", computing + 1);
  for (int i = 0; i < computing + 1; ++i) {
    topology::Device& device = host.devices[static_cast<std::size_t>(i)];
    if (i == storage) continue;
    device.kind = topology::DeviceKind::gpu;
    device.name = "gpu" + std::to_string(i);
  }
  topology::Topology drawing;
  drawing.hosts = {host};
  return drawing;
}

}  // namespace trainyard::tests
