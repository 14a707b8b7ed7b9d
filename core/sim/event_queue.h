// SPDX-License-Identifier: GPL-3.0-or-later
// Event queue of the simulation, in one deterministic order: by time; at equal times first ends and
// arrivals, then ranks that continue; then by rank and engine.
#pragma once

#include <queue>
#include <tuple>
#include <vector>

#include "core/sim/time.h"

namespace trainyard::sim {

enum class MomentKind { busy_ends, arrives, collective_ends, goes_on };

struct Moment {
  Picoseconds time = 0;
  MomentKind kind = MomentKind::goes_on;
  int rank = 0;
  int number = 0;  // busy_ends: engine; arrives: message; collective_ends: gathering

  bool operator>(const Moment& other) const {
    return std::tie(time, kind, rank, number) >
           std::tie(other.time, other.kind, other.rank, other.number);
  }
};

using EventQueue = std::priority_queue<Moment, std::vector<Moment>, std::greater<>>;

}  // namespace trainyard::sim
