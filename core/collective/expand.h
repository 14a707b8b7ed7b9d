// SPDX-License-Identifier: GPL-3.0-or-later
// Expands a coarse plan to chunk programs: every collective op becomes the sends and receives of
// its algorithm, on a send lane and a receive lane of its group. Dependencies follow from the data:
// an op comes after the ops that touched its elements, if either writes. An op that only reads the
// result waits for the receives. An op that writes it also waits for the sends, since peers read it
// in place.
#pragma once

#include "core/collective/algorithm.h"
#include "core/plan/plan.h"

namespace trainyard::collective {

// How to run the collectives of a plan.
struct Method {
  Method(Algorithm by)
      : algorithm(by) {}  // NOLINT(google-explicit-constructor): an algorithm is a method

  Algorithm algorithm;
  // Buckets larger than this are split into segments of about this size, each a collective of its
  // own. Round t of the bucket runs round t - s of segment s, so that summing one segment overlaps
  // with transferring the next. 0: never. Collectives that shard a bucket into chunks are not
  // segmented.
  std::int64_t segment_bytes = 0;
  std::vector<int> hosts = {};  // host number by rank; empty: all on one host
};

plan::RankPlan expand(const plan::RankPlan& coarse, const std::vector<plan::Group>& groups,
                      const Method& method);
plan::Plan expand(const plan::Plan& coarse, const Method& method);

// Returns the formation of a group of ranks.
Formation formation_of(const plan::Group& group, const std::vector<int>& hosts);

// Returns the collective of a coarse op; nothing for other kinds.
std::optional<Collective> collective_of(plan::OpKind kind);

// Returns the payload bytes that `rank` sends in one run of `program` of an expanded plan.
std::int64_t sent_bytes(const plan::RankPlan& expanded, const plan::Program& program);

// Returns the program of a full step; if ranks synchronize every H steps, of a synchronizing step.
// Null if the rank takes no steps.
const plan::Program* step_program(const plan::RankPlan& rank, const plan::Schedule& schedule);

// Returns the payload bytes of a full step; if ranks synchronize every H steps, those of a
// synchronizing step / H, rounded.
std::int64_t step_sent_bytes(const plan::RankPlan& expanded, const plan::Schedule& schedule);

}  // namespace trainyard::collective
