// SPDX-License-Identifier: GPL-3.0-or-later
// Cost of a collective on the drawn links, with the same rule for every algorithm. The cost is the
// sum, over its rounds, of
//
// the greatest latency of a route in use
// + the most bytes on any directed link / its bandwidth,
//   where routes that share a link share its bandwidth
// + the longest time that a device takes to add and copy received data:
//   bytes that it reads and writes / its memory bandwidth
//
// (Hockney 1994, with shared links). Rounds are sequential, as if all members waited for the
// slowest. So the cost is an upper bound, except for a few percent if members in different rounds
// use the same links. The simulator is more exact, because it follows every op.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/collective/expand.h"
#include "core/topology/network.h"

namespace trainyard::collective {

// A bucket to be reduced, and the devices of the ranks that reduce it, by position in the group.
struct Work {
  std::int64_t elements = 0;
  int element_bytes = 4;
  std::vector<topology::DeviceId> devices;
  std::vector<int> hosts;  // host numbers, by position
  // for all_gather, `elements` is the total over all members
  Collective collective = Collective::all_reduce;
  // Host numbers, as in `hosts`, of other groups that run at the same time. They must use the same
  // algorithm, but their cost does not affect the choice.
  std::vector<std::vector<int>> concurrent_groups = {};

  std::int64_t bytes() const { return elements * element_bytes; }
};

struct Cost {
  int rounds = 0;  // number of rounds in which data is sent
  std::int64_t busiest_bytes = 0,
               total_bytes = 0;  // bytes sent by the position that sends most, and by all positions
  double seconds = 0;

  bool operator==(const Cost&) const = default;
};

// Computes the cost. Fails if two devices have no route.
base::Result<Cost> cost(Algorithm algorithm, std::int64_t segment_bytes, const Work& work,
                        const topology::Network& network);

// Result for one algorithm and one group: its cost, or the reason why it does not support the
// group.
struct Offer {
  Algorithm algorithm = Algorithm::ring;
  Cost cost = {};
  std::string unfit_reason = {};  // empty if the algorithm supports the group and `cost` is valid

  bool operator==(const Offer&) const = default;
};

// Returns one result per algorithm, in the order of the table of algorithms (algorithm.h). For
// all-gather, only algorithms whose programs contain an all-gather are supported. Fails if two
// devices have no route, or soon after `stop` is requested.
base::Result<std::vector<Offer>> offers(std::int64_t segment_bytes, const Work& work,
                                        const topology::Network& network,
                                        const std::stop_token& stop = {});

// The cheapest algorithm, with a one-line reason. If several algorithms have the lowest cost, this
// is the one that comes first in the table of algorithms. The reason names the next best algorithm
// that costs more.
struct Choice {
  Algorithm algorithm = Algorithm::ring;
  // Text such as "direct: 1.2 ms for 4 MB on this drawing; next best: ring, 2.0 ms".
  std::string reason;
};
Choice choice(const std::vector<Offer>& offers, const Work& work);
base::Result<Choice> choose(std::int64_t segment_bytes, const Work& work,
                            const topology::Network& network);

// Traffic between two members: the bytes that one sends to the other in all rounds together, over
// any links.
struct Flow {
  int from = 0, to = 0;  // positions of the members
  std::int64_t bytes = 0;
  bool operator==(const Flow&) const = default;
};

// Returns the traffic between members, ordered by `from`, then by `to`, as computed from the
// members' programs.
std::vector<Flow> flows(Algorithm algorithm, std::int64_t segment_bytes, const Work& work);

// Returns the bytes that each position sends in any collective, computed from the members'
// programs. Position 0 is the root, if there is one.
std::vector<std::int64_t> sent_bytes(Collective collective, Algorithm algorithm,
                                     std::int64_t segment_bytes, const Work& work);

}  // namespace trainyard::collective
