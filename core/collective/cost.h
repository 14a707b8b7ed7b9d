// SPDX-License-Identifier: GPL-3.0-or-later
// What a collective costs on the drawn links, by one rule for every algorithm: the sum over its
// rounds of
//   the greatest latency of a route in use
//   + the most bytes on any directed link / its bandwidth, where routes that share a link share its bandwidth
//   + the longest that a device takes to add and copy what arrived: bytes it reads and writes / its memory bandwidth
// (Hockney 1994, with links shared). Rounds follow each other here as if all waited for the
// slowest, so it is an estimate from above, but for a few percent where members of unlike rounds
// get into each other's way; the simulator follows every op.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/collective/expand.h"
#include "core/topology/network.h"

namespace trainyard::collective {

// A bucket, and the devices whose ranks reduce it, by position.
struct Work {
  std::int64_t elements = 0;
  int element_bytes = 4;
  std::vector<topology::DeviceId> devices;
  std::vector<int> hosts;  // by position
  Collective collective =
      Collective::all_reduce;  // or all_gather: then the elements are those of all positions
  std::vector<std::vector<int>> besides = {};  // hosts likewise, of other groups that go by the
                                               // same algorithm, whatever it is for this one

  std::int64_t bytes() const { return elements * element_bytes; }
};

struct Cost {
  int rounds = 0;  // on the wire
  std::int64_t busiest_bytes = 0,
               total_bytes = 0;  // sent by the position that sends most, and by all
  double seconds = 0;

  bool operator==(const Cost&) const = default;
};

// Fails where two devices have no route.
base::Result<Cost> cost(Algorithm algorithm, std::int64_t segment_bytes, const Work& work,
                        const topology::Network& network);

// What an algorithm costs, or why it is not for the group.
struct Offer {
  Algorithm algorithm = Algorithm::ring;
  Cost cost = {};
  std::string unfit = {};  // empty: it fits, and the cost holds

  bool operator==(const Offer&) const = default;
};

// Of every algorithm, in the order of their table; of an all-gather only those that have one of
// their own fit. Fails where two devices have no route; with `cancelled` soon after it is asked to
// stop.
base::Result<std::vector<Offer>> offers(std::int64_t segment_bytes, const Work& work,
                                        const topology::Network& network,
                                        const std::stop_token& stop = {});

// The algorithm that costs least, and why in one line; the first of the table among equals, and the
// next best beside it is none of them.
struct Choice {
  Algorithm algorithm = Algorithm::ring;
  std::string reason;  // "direct: 1.2 ms for 4 MB on this drawing, the next best, ring, 2.0 ms"
};
Choice choice(const std::vector<Offer>& offers, const Work& work);
base::Result<Choice> choose(std::int64_t segment_bytes, const Work& work,
                            const topology::Network& network);

// What one member sends another over all rounds: the logical picture of an algorithm.
struct Flow {
  int from = 0, to = 0;  // positions
  std::int64_t bytes = 0;
  bool operator==(const Flow&) const = default;
};

// By `from` and then `to`; from the programs that members run.
std::vector<Flow> flows(Algorithm algorithm, std::int64_t segment_bytes, const Work& work);

// What each position sends in any collective, by the same programs; position 0 is the root where
// there is one.
std::vector<std::int64_t> sent_bytes(Collective collective, Algorithm algorithm,
                                     std::int64_t segment_bytes, const Work& work);

}  // namespace trainyard::collective
