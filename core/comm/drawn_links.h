// SPDX-License-Identifier: GPL-3.0-or-later
// What a drawing says of the ways that bytes take between ranks, as plain numbers to impose. Every
// edge of the network has two ways - a drawn link, or the attachment of a device to its host's bus
// - each with the full bandwidth.
#pragma once

#include <vector>

#include "core/base/result.h"
#include "core/topology/network.h"

namespace trainyard::comm {

// One direction of an edge: 2 * edge for forward, 2 * edge + 1 for backward.
using Way = int;

struct DrawnRoute {
  std::vector<Way> ways;
  double latency_seconds = 0;
};

struct DrawnLinks {
  int ranks = 0;
  std::vector<double> bits_per_second;  // by way
  std::vector<DrawnRoute> routes;       // by from * ranks + to; none to oneself
};

// Between `ranks`, or all workers. A Problem where two have no route.
base::Result<DrawnLinks> drawn_links(const topology::Network& network,
                                     const std::vector<topology::DeviceId>& ranks);
base::Result<DrawnLinks> drawn_links(const topology::Network& network);

}  // namespace trainyard::comm
