// SPDX-License-Identifier: GPL-3.0-or-later
// Drawings and plans small enough to be costed by hand.
#pragma once

#include <string>
#include <vector>

#include "core/collective/expand.h"
#include "core/sim/simulator.h"

namespace trainyard::sim {

inline constexpr double kExact = 1e-12;  // of seconds: the clock counts picoseconds

// `hosts` hosts of one device each on one switch; buses cost next to nothing.
struct Star {
  int hosts = 2;
  double bandwidth_bits_per_second = 1e9;
  double latency_seconds = 0;  // of a whole route
  double peak_flops = 1e9;
  double memory_bandwidth_bytes_per_second = 1e9;
};
topology::Topology star(const Star& star);
topology::Topology one_host(int devices, double bus_bandwidth_bits_per_second,
                            double bus_latency_seconds);

// A replica on every rank: a load, and for each segment a forward, a backward and an update op;
// each segment is a bucket of its own, reduced over all ranks. Activations are small, gradients
// large.
struct Replica {
  int ranks = 2;
  int segments = 1;
  std::int64_t elements = 1000;  // of a segment's gradient
  std::int64_t flops = 1'000'000;
  plan::Schedule schedule{1, 1, {}, 0};
  std::int64_t evaluations = 0;  // repeats of the program "evaluate"; 0: there is none
  collective::Method method = collective::Algorithm::ring;
};
plan::Plan replica(const Replica& replica);

// All ranks reduce one buffer of fp32 elements and do nothing else.
plan::Plan all_reduce(int ranks, std::int64_t elements, const collective::Method& method);

// One message of fp32 elements for each pair {from, to}, all at once.
plan::Plan messages(int ranks, std::int64_t elements,
                    const std::vector<std::pair<int, int>>& pairs);

struct RankEvent {
  int rank;
  telemetry::Event event;
};
struct Simulated {
  Outcome outcome;
  std::vector<RankEvent> events;
};
// Simulates a plan that must succeed.
Simulated simulated(const plan::Plan& plan, const topology::Topology& drawing,
                    Options options = {});

// No launch cost.
Options bare();

}  // namespace trainyard::sim
