// SPDX-License-Identifier: GPL-3.0-or-later
// Rules for synchronized batch norm (segments with an op STAT). Its sums are the outputs of STAT,
// and the values that the segment's two backward ops share with no other op. Each sum is
// all-reduced over all ranks that have STAT, before a pass reads the sum. A pass reads the sum of
// its own micro-step. Every contribution to a sum was computed in that micro-step.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/check/buckets.h"

namespace trainyard::check {

// Checks the rules of synchronized batch norm for one program, on all ranks, while the rehearsal
// executes it.
class Statistics {
 public:
  Statistics(const Scope& scope, const std::string& program);

  // True if the bucket holds batch norm sums.
  bool is_summed(const Bucket& bucket) const;
  // Returns the sums that an op must read. Empty if the op needs no sums, or if the sums do not
  // exist.
  std::vector<plan::Access> wanted(std::int32_t rank, const plan::Op& op) const;
  // True if the op computes an input gradient that requires sums over ranks, but the plan has no
  // such sums.
  bool lacks_gradient_sums(std::int32_t rank, const plan::Op& op) const;
  // True if `members` contains all ranks that normalize together.
  bool over_all(const std::vector<std::int32_t>& members, std::int32_t segment) const;

  void write(std::int32_t rank, const plan::Op& op);
  bool of_its_micro_step(std::int32_t rank, const plan::Op& op, const plan::Access& sums) const;

 private:
  struct Sums {
    std::vector<plan::Access> of_inputs, of_gradients;
  };
  void find(const plan::RankPlan& rank, const plan::Program& program);
  const Sums* sums_of(std::int32_t rank, const plan::Op& op) const;

  std::map<std::pair<std::int32_t, std::int32_t>, Sums> sums_;  // sums by rank and segment
  // ranks that normalize together, by segment
  std::map<std::int32_t, std::set<std::int32_t>> ranks_;
  std::set<std::pair<std::int32_t, std::int32_t>> buffers_;  // buffers of sums: rank and buffer
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t>
      micro_;  // by rank and buffer: micro-step of its contents
};

}  // namespace trainyard::check
