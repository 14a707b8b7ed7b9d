// SPDX-License-Identifier: GPL-3.0-or-later
// Event queue of the simulation, in one deterministic order. Events are ordered by time. At equal
// times, ends and arrivals come before events that let a rank continue. Remaining ties are ordered
// by rank, then by engine.
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
  // Index of the object that the event concerns. For busy_ends: the engine; arrives: the message;
  // collective_ends: the pending collective.
  int number = 0;

  bool operator>(const Moment& other) const {
    return std::tie(time, kind, rank, number) >
           std::tie(other.time, other.kind, other.rank, other.number);
  }
};

using EventQueue = std::priority_queue<Moment, std::vector<Moment>, std::greater<>>;

}  // namespace trainyard::sim
