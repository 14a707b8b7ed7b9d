// SPDX-License-Identifier: GPL-3.0-or-later
// Bytes on the wires. Every edge has two ways, each with the full bandwidth; what crosses one way
// at a moment shares it max-min fairly: rates grow together until a way is full, those that cross
// it stay at that rate, the others go on (Bertsekas and Gallager, Data Networks, 6.5.2). Rates
// change when a transfer starts or ends, for those that share a way with it, directly or through
// others. Whole numbers only: no rounding depends on the machine.
#pragma once

#include <cstdint>
#include <queue>
#include <tuple>
#include <vector>

#include "core/sim/time.h"
#include "core/topology/network.h"

namespace trainyard::sim {

// One direction of an edge: 2 * edge for forward, 2 * edge + 1 for backward.
using Way = int;
inline Way way(const topology::Hop& hop) { return 2 * hop.edge.value + (hop.forward ? 0 : 1); }

class Links {
 public:
  static constexpr Picoseconds kNever = kLongest + 1;

  explicit Links(const topology::Network& network);

  // `bytes` start over `path` (not empty) at `now`; the path stays where it is until they are over.
  void start(int transfer, const std::vector<Way>& path, std::int64_t bytes, Picoseconds now);

  // When the next transfer is over, its last bit sent; kNever when nothing is on the wires. `now`
  // is the time of all starts since the last call.
  Picoseconds next_end(Picoseconds now);
  // The transfers that are over at `now`, which `next_end` gave, in order of their numbers.
  std::vector<int> take_ended(Picoseconds now);

  std::int64_t bytes(Way way) const {
    return ways_[static_cast<std::size_t>(way)].bytes;
  }  // started so far
  Picoseconds busy(Way way) const {
    return ways_[static_cast<std::size_t>(way)].busy;
  }  // something crossed it
  int ways() const { return static_cast<int>(ways_.size()); }

 private:
  // Bits times 1e12 times kRateUnit: what one unit of rate moves in one picosecond.
  __extension__ using Amount = __int128;
  static constexpr std::int64_t kRateUnit =
      512;  // rates count 1/512 bit/s: 1e16 bit/s fit, a share of 1 kbit/s is still fine

  struct Transfer {
    const std::vector<Way>* path = nullptr;
    Amount remaining = 0;
    std::int64_t rate = 0;
    Picoseconds since = 0;  // `remaining` is of this time
    Picoseconds ends = kNever;
    bool active = false;
  };
  struct WayState {
    std::int64_t capacity = 0;
    std::vector<int> transfers;
    std::int64_t bytes = 0;
    Picoseconds busy = 0, busy_since = 0;
    bool changed = false;
  };
  using End = std::tuple<Picoseconds, int>;

  void share_again(Picoseconds now);
  std::vector<Way> touched_ways(std::vector<int>& transfers);
  void share(const std::vector<Way>& ways, const std::vector<int>& transfers, Picoseconds now);
  void set_rate(int transfer, std::int64_t rate, Picoseconds now);
  void change(Way way);
  bool stale(const End& end) const;

  std::vector<WayState> ways_;
  std::vector<Transfer> transfers_;
  std::vector<Way> changed_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  // Scratch of `share`, by way and by transfer.
  std::vector<std::int64_t> left_, sharers_;
  std::vector<bool> seen_way_, open_;
};

}  // namespace trainyard::sim
