// SPDX-License-Identifier: GPL-3.0-or-later
// From the coarse plan to the chunk program: every collective op becomes the sends and receives of
// its algorithm, on a send lane and a receive lane of its group. Dependencies follow from the data:
// an op comes after those that touched its elements, where one of them writes. What only reads the
// result waits for the receives; what writes it waits for the sends too, since peers read it in
// place.
#pragma once

#include "core/collective/algorithm.h"
#include "core/plan/plan.h"

namespace trainyard::collective {

// How the collectives of a plan are carried out.
struct Method {
  Method(Algorithm by)
      : algorithm(by) {}  // NOLINT(google-explicit-constructor): an algorithm is a method

  Algorithm algorithm;
  // A larger bucket is cut into segments of about this size, each a collective of its own: round t
  // of the bucket holds round t - s of segment s, so that one is added up while the next crosses.
  // 0: never. What shares out chunks is not cut.
  std::int64_t segment_bytes = 0;
  std::vector<int> hosts = {};  // rank -> number of its host; empty: all on one
};

plan::RankPlan expand(const plan::RankPlan& coarse, const std::vector<plan::Group>& groups,
                      const Method& method);
plan::Plan expand(const plan::Plan& coarse, const Method& method);

// How a group of ranks stands.
Formation formation_of(const plan::Group& group, const std::vector<int>& hosts);

// The collective that a coarse op stands for; of other kinds nothing.
std::optional<Collective> collective_of(plan::OpKind kind);

// Payload bytes that `rank` sends in one run of `program` of an expanded plan.
std::int64_t sent_bytes(const plan::RankPlan& expanded, const plan::Program& program);

// What a full step runs, and where ranks meet after every H-th step alone, such a one; null: the
// rank takes none.
const plan::Program* step_program(const plan::RankPlan& rank, const plan::Schedule& schedule);

// Payload bytes of a full step; where ranks meet after every H-th step alone, in such a one / H,
// rounded.
std::int64_t step_sent_bytes(const plan::RankPlan& expanded, const plan::Schedule& schedule);

}  // namespace trainyard::collective
