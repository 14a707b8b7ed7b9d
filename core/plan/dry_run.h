// SPDX-License-Identifier: GPL-3.0-or-later
// Runs all ranks of a plan together, without work or bytes. Each rank's frontier advances in ticks,
// and each op starts as early as it may. Capacity is zero: a send completes with its matching
// receive, not earlier. The k-th send from a to b in a group matches the k-th receive at b from a
// (a reduce_many receives from all ranks whose chunks it adds). The k-th coarse op of a member
// matches the k-th of the others. A plan has no choices, so matches and termination do not depend
// on speed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/plan/plan.h"

namespace trainyard::plan {

struct DryRun {
  // An op of an instance, and the ticks at which it started and completed (-1: never).
  struct OpRun {
    std::int32_t instance = 0, op = 0;
    std::int32_t begin = -1, end = -1;
  };
  struct At {
    std::int32_t rank = -1, lane = -1;
    std::int64_t sequence = 0;  // number of the op on its lane, since the start
  };
  // Events in an order that respects every dependency and every match. Sends and coarse ops have
  // two events: started, then completed as one of the sources of the event that completes them. All
  // other ops have one.
  struct Event {
    At at;
    bool completes = true;
    std::uint32_t first_source = 0,
                  source_count = 0;  // sends that it consumes, or coarse ops of the other members
  };

  std::vector<std::vector<int>> instances;              // by rank: programs in order
  std::vector<std::vector<std::vector<OpRun>>> places;  // by rank, by lane: all ops, in order
  std::vector<std::vector<std::vector<std::int64_t>>>
      base;  // by rank, by instance, by lane: ops before the instance
  std::vector<Event> events;
  std::vector<At> sources;
  std::int32_t ticks = 0;
  bool complete = false;  // every op of every rank completed

  OpRun& place(const At& at) {
    return places[static_cast<std::size_t>(at.rank)][static_cast<std::size_t>(at.lane)]
                 [static_cast<std::size_t>(at.sequence)];
  }
  const OpRun& place(const At& at) const {
    return places[static_cast<std::size_t>(at.rank)][static_cast<std::size_t>(at.lane)]
                 [static_cast<std::size_t>(at.sequence)];
  }
  int program(std::int32_t rank, const OpRun& place) const {
    return instances[static_cast<std::size_t>(rank)][static_cast<std::size_t>(place.instance)];
  }
  std::span<const At> sources_of(const Event& event) const {
    return std::span(sources).subspan(event.first_source, event.source_count);
  }
};

// Lane, dependency, group and peer numbers must be in range. `instances`: by rank, the programs in
// order.
DryRun dry_run(const std::vector<RankPlan>& ranks, const std::vector<Group>& groups,
               std::vector<std::vector<int>> instances);

}  // namespace trainyard::plan
