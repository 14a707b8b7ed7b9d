// SPDX-License-Identifier: GPL-3.0-or-later
// Links and routes between ranks in a drawing, as plain numbers, for transports that limit
// bandwidth to the drawn one. An edge of the network is a drawn link, or the attachment of a device
// to its host's bus. Each direction of an edge has the full bandwidth.
#pragma once

#include <vector>

#include "core/base/result.h"
#include "core/topology/network.h"

namespace trainyard::comm {

// Number of one direction of an edge: 2 * edge for forward, 2 * edge + 1 for backward.
using DirectedLink = int;

struct DrawnHop {
  DirectedLink way = 0;
  std::int32_t share = topology::kFullShare;  // share of a message, of kFullShare
};

struct DrawnRoute {
  std::vector<DrawnHop> hops;
  double latency_seconds = 0;
};

struct DrawnLinks {
  int ranks = 0;
  std::vector<double> bits_per_second;  // bandwidth by DirectedLink
  std::vector<DrawnRoute> routes;       // at index from * ranks + to; empty for a rank to itself
};

// Returns the links between `ranks`, or between all workers. Fails if two ranks have no route
// between them.
base::Result<DrawnLinks> drawn_links(const topology::Network& network,
                                     const std::vector<topology::DeviceId>& ranks);
base::Result<DrawnLinks> drawn_links(const topology::Network& network);

}  // namespace trainyard::comm
