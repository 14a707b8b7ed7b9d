// SPDX-License-Identifier: GPL-3.0-or-later
// Which ranks of a plan take the same samples, where layers are on several ranks: those among whom
// outputs are handed on or summed are one replica. Within one, ranks may take different
// micro-batches of a segment: callers of layers that are there once. What is learnt of a segment,
// or of the columns that a rank has of it, is to be summed over all replicas, and all callers of
// each, with one rank that has just these; and where a rank updates a segment by what another one
// learns, as it is tied to it, with who has that.
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

  // What is wrong with a sum over these ranks of what a rank learns of a segment; nothing where it
  // is over all replicas.
  std::optional<std::string> flaw(std::int32_t rank, std::int32_t segment,
                                  const std::vector<std::int32_t>& members) const;

  std::int32_t of(std::int32_t rank) const {
    return replica_[static_cast<std::size_t>(rank)];
  }  // by one of its ranks

 private:
  void join(std::int32_t a, std::int32_t b);
  void join_members(const Scope& scope, const plan::RankPlan& rank, const plan::Program& program);
  void find_learnt(const plan::RankPlan& rank, const plan::Program& program);
  void learn_columns(const plan::RankPlan& rank, const plan::Program& program);
  void learn_micro_batches(const plan::RankPlan& rank, const plan::Program& program);
  plan::Columns columns(std::int32_t rank, std::int32_t segment) const;
  std::int32_t learnt_by(std::int32_t rank, std::int32_t segment)
      const;  // the segment that is updated by what this one learns

  // By what a rank learns a segment: of its replica the micro-batches, that others of it may have
  // shared out with it, each by the segment that it passes.
  using Passed = std::set<std::pair<std::int32_t, std::int32_t>>;
  using Source = std::pair<std::int32_t, Passed>;
  Source source(std::int32_t rank, std::int32_t segment) const;

  std::vector<std::int32_t> replica_;  // by rank
  std::map<std::int32_t, std::vector<std::int32_t>>
      learners_;  // by segment, of this program: ranks
  std::map<std::pair<std::int32_t, std::int32_t>, plan::Columns> columns_;  // by rank and segment
  std::map<std::pair<std::int32_t, std::int32_t>, Passed> passed_;  // likewise, of all programs
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t>
      learnt_;  // likewise, where it is not the segment itself
};

}  // namespace trainyard::check
