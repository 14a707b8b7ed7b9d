// SPDX-License-Identifier: GPL-3.0-or-later
// Finds which ranks of a plan process the same samples, if layers are split over ranks. Ranks that
// pass or sum outputs among themselves form one replica. Within a replica, ranks may process
// different micro-batches of a segment, as the callers of a remote segment do.
//
// The gradient of a segment (or of a rank's columns of it) must be summed over all replicas. The
// sum must contain, from each replica and each caller, one rank that holds exactly these columns.
// If a rank updates a segment with the gradient of a tied segment on another rank, the sum must
// include the rank that computes that gradient.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/check/layers.h"

namespace trainyard::check {

class Replicas {
 public:
  Replicas(const Scope& scope, const std::string& program);

  // Checks that `members` are the right ranks to sum the rank's gradient of a segment. Returns
  // nothing if the sum contains all replicas, else a text that says what is wrong.
  std::optional<std::string> flaw(std::int32_t rank, std::int32_t segment,
                                  const std::vector<std::int32_t>& members) const;

  std::int32_t of(std::int32_t rank) const {
    return replica_[static_cast<std::size_t>(rank)];
  }  // the replica, identified by one of its ranks

 private:
  void join(std::int32_t a, std::int32_t b);
  void join_members(const Scope& scope, const plan::RankPlan& rank, const plan::Program& program);
  void find_gradients(const plan::RankPlan& rank, const plan::Program& program);
  void learn_columns(const plan::RankPlan& rank, const plan::Program& program);
  void learn_micro_batches(const plan::RankPlan& rank, const plan::Program& program);
  plan::Columns columns(std::int32_t rank, std::int32_t segment) const;
  std::int32_t updated_segment(std::int32_t rank, std::int32_t segment)
      const;  // the segment that the gradient of `segment` updates

  // Source of a rank's gradient of a segment: the rank's replica, and pairs of a micro-batch and
  // the segment that processed that micro-batch. Other ranks of the replica may process the
  // remaining micro-batches.
  using Passed = std::set<std::pair<std::int32_t, std::int32_t>>;
  using Source = std::pair<std::int32_t, Passed>;
  Source source(std::int32_t rank, std::int32_t segment) const;

  std::vector<std::int32_t> replica_;  // replica of each rank
  std::map<std::int32_t, std::vector<std::int32_t>>
      learners_;  // by segment: ranks that compute its gradient in this program
  // columns of the layer that a rank's gradient of a segment covers; the key is {rank, segment}
  std::map<std::pair<std::int32_t, std::int32_t>, plan::Columns> columns_;
  // micro-batches of a segment that a rank processes, in all programs; the key is {rank, segment}
  std::map<std::pair<std::int32_t, std::int32_t>, Passed> passed_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t>
      updated_segments_;  // by rank and segment, if it differs from the segment
};

}  // namespace trainyard::check
