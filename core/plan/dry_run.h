// SPDX-License-Identifier: GPL-3.0-or-later
// Runs all ranks of a plan together, without computing or sending. Each rank's frontier
// (frontier.h) advances in ticks, and each op starts as early as it may. Channels have no capacity:
// a send completes together with its matching receive. The k-th send from a to b in a group matches
// the k-th receive at b from a; a reduce_many counts as a receive from each rank whose chunks it
// adds. The k-th collective op of a member matches the k-th of the other members. A plan has no
// choices, so matches and termination do not depend on speed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/plan/plan.h"

namespace trainyard::plan {

struct DryRun {
  // An op in one instance of its program, and the ticks at which it started and completed (-1:
  // never).
  struct OpRun {
    std::int32_t instance = 0, op = 0;
    std::int32_t begin = -1, end = -1;
  };
  struct At {
    std::int32_t rank = -1, lane = -1;
    // index of the op on its lane, counted over all programs since the start
    std::int64_t sequence = 0;
  };
  // Events in an order that respects every dependency and every match. A send or collective has an
  // event for its start. It completes in a later event, which lists it as a source: the event of
  // the matching receive, or of the member that starts the collective last. All other ops have one
  // event.
  struct Event {
    At at;
    bool completes = true;
    // ops that this event completes in addition to `at`: the sends that it consumes, or the same
    // collective on other members
    std::uint32_t first_source = 0, source_count = 0;
  };

  // programs of each rank, in the order in which they run
  std::vector<std::vector<int>> instances;
  std::vector<std::vector<std::vector<OpRun>>> places;  // all ops in order, by rank and lane
  // number of ops on a lane before a program instance; indices: rank, index of the program in
  // `instances`, lane
  std::vector<std::vector<std::vector<std::int64_t>>> base;
  std::vector<Event> events;
  std::vector<At> sources;
  std::int32_t ticks = 0;
  bool complete = false;  // true if every op of every rank completed

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

// Runs the programs `instances`, which are listed for each rank in order. The numbers of lanes,
// dependencies, groups and peers in the plan must be in range.
DryRun dry_run(const std::vector<RankPlan>& ranks, const std::vector<Group>& groups,
               std::vector<std::vector<int>> instances);

}  // namespace trainyard::plan
