// SPDX-License-Identifier: GPL-3.0-or-later
// Bandwidth sharing on the drawn links. Every edge has two directions, each with the full
// bandwidth. Transfers in one direction of an edge share it max-min fairly (Bertsekas and Gallager,
// Data Networks, section 6.5.2). The rates of all transfers are raised together until a direction
// is full. The transfers that use this direction then keep their rate, and the rates of the others
// are raised further. When a transfer starts or ends, rates change for all transfers that share a
// direction with it, directly or through other transfers. A transfer that is split (core/topology/
// network.h) uses its share of its rate on each link. Transfers of one lane are sent one after the
// other, as in a real run (core/comm/link_shares.h). All arithmetic is in integers, so that results
// do not depend on the machine.
#pragma once

#include <cstdint>
#include <deque>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "core/sim/time.h"
#include "core/topology/network.h"

namespace trainyard::sim {

// One direction of an edge: number 2 * edge is forward, 2 * edge + 1 is backward.
using DirectedLink = int;
inline DirectedLink way(const topology::Hop& hop) {
  return 2 * hop.edge.value + (hop.forward ? 0 : 1);
}

// Route of the messages from one rank to another.
struct Path {
  explicit Path(topology::Route of)
      : route(std::move(of)), latency(picoseconds(route.latency_seconds)) {}

  // Calls visit(directed link, bytes on it) for a message of `bytes`.
  template <class Visit>
  void for_each_way(std::int64_t bytes, const Visit& visit) const {
    if (!route.splits) {
      for (const topology::Hop& hop : route.hops) visit(way(hop), bytes);
      return;
    }
    const std::vector<std::int64_t> parts = topology::bytes_of_hops(route, bytes);
    for (std::size_t i = 0; i < parts.size(); ++i) visit(way(route.hops[i]), parts[i]);
  }

  topology::Route route;
  Picoseconds latency = 0;
};

class Links {
 public:
  static constexpr Picoseconds kNever = kLongest + 1;

  explicit Links(const topology::Network& network);

  // Starts a transfer of `bytes` over `path` (not empty) at `now`, or when all earlier transfers of
  // its lane have ended. The path must stay valid until the transfer ends. Lanes are numbers from
  // 0.
  void start(int transfer, int lane, const Path& path, std::int64_t bytes, Picoseconds now);

  // Returns the time at which the next transfer has sent its last bit; kNever if there is none. All
  // starts since the last call must have happened at time `now`.
  Picoseconds next_end(Picoseconds now);
  // Returns the ids of the transfers that end at `now`. The time `now` must be a result of
  // `next_end`.
  std::vector<int> take_ended(Picoseconds now);

  std::int64_t bytes(DirectedLink way) const {
    return ways_[static_cast<std::size_t>(way)].bytes;
  }  // bytes of transfers that began
  Picoseconds busy(DirectedLink way) const {
    return ways_[static_cast<std::size_t>(way)].busy;
  }  // time during which there was at least one transfer
  int ways() const { return static_cast<int>(ways_.size()); }

 private:
  // Amount of data, in units of what one unit of rate transfers in a picosecond: bits times 1e12
  // times kRateUnit.
  __extension__ using Amount = __int128;
  // Number of rate units per bit/s. With units of 1/512 bit/s, rates up to 1e16 bit/s fit in 64
  // bits, and shares of 1 kbit/s are precise.
  static constexpr std::int64_t kRateUnit = 512;

  struct Transfer {
    const Path* path = nullptr;
    int lane = 0;
    std::int64_t bytes = 0;
    Amount remaining = 0;
    std::int64_t rate = 0;
    Picoseconds since = 0;  // time to which `remaining` refers
    Picoseconds ends = kNever;
    bool active = false;
  };
  struct DirectedLinkState {
    std::int64_t capacity = 0;
    std::vector<int> transfers;
    std::int64_t bytes = 0;
    Picoseconds busy = 0, busy_since = 0;
    bool changed = false;
  };
  using End = std::tuple<Picoseconds, int>;

  void begin(int transfer, Picoseconds now);
  void recompute_shares(Picoseconds now);
  std::vector<DirectedLink> affected_links(std::vector<int>& transfers);
  void share(const std::vector<DirectedLink>& ways, const std::vector<int>& transfers,
             Picoseconds now);
  void set_rate(int transfer, std::int64_t rate, Picoseconds now);
  void change(DirectedLink way);
  bool stale(const End& end) const;

  std::vector<DirectedLinkState> ways_;
  std::vector<Transfer> transfers_;
  std::vector<std::deque<int>> lanes_;  // transfers of each lane; the first one is being sent
  std::vector<DirectedLink> changed_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  // Scratch memory of the function `share`. `left_`, `shares_` (sum of the shares of transfers that
  // have no rate yet) and `seen_way_` are indexed by directed link, `open_` by transfer.
  std::vector<std::int64_t> left_, shares_;
  std::vector<bool> seen_way_, open_;
};

}  // namespace trainyard::sim
