// SPDX-License-Identifier: GPL-3.0-or-later
// Expands the collectives of a plan: every collective op becomes the sends and receives of its
// algorithm, on a send lane and a receive lane of its group. Dependencies follow from the data: an
// op waits for earlier ops that access the same elements, if either op writes them. An op that only
// reads a result waits for the receives. An op that overwrites a result also waits for the sends,
// because peers read the data in place.
#pragma once

#include "core/collective/algorithm.h"
#include "core/plan/plan.h"

namespace trainyard::collective {

// Options for the expansion of collectives.
struct Method {
  Method(Algorithm by)
      : algorithm(by) {}  // NOLINT(google-explicit-constructor): an algorithm is a method

  Algorithm algorithm;
  // Buckets larger than this many bytes are split into segments of about this size, and each
  // segment is reduced separately. Segment s starts s rounds after the first one, so that summing
  // one segment overlaps with transferring the next. 0: buckets are never split. Collectives that
  // shard a bucket into chunks are not segmented.
  std::int64_t segment_bytes = 0;
  std::vector<int> hosts = {};  // host number by rank; empty: all on one host
};

plan::RankPlan expand(const plan::RankPlan& coarse, const std::vector<plan::Group>& groups,
                      const Method& method);
plan::Plan expand(const plan::Plan& coarse, const Method& method);

// Returns the formation of a group of ranks.
Formation formation_of(const plan::Group& group, const std::vector<int>& hosts);

// Returns the collective that an op of this kind runs, such as all-reduce; nothing if the op is not
// a collective.
std::optional<Collective> collective_of(plan::OpKind kind);

// Returns the payload bytes that a rank sends in one execution of `program`. `expanded`: the
// expanded plan of the rank.
std::int64_t sent_bytes(const plan::RankPlan& expanded, const plan::Program& program);

// Returns the program of a full step. If ranks synchronize only every H steps, returns the program
// of a synchronizing step. Null if the rank takes no steps.
const plan::Program* step_program(const plan::RankPlan& rank, const plan::Schedule& schedule);

// Returns the payload bytes that a rank sends in a full step. If ranks synchronize every H steps,
// these are the bytes of a synchronizing step / H, rounded.
std::int64_t step_sent_bytes(const plan::RankPlan& expanded, const plan::Schedule& schedule);

}  // namespace trainyard::collective
