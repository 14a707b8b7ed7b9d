// SPDX-License-Identifier: GPL-3.0-or-later
// What the proof of the meaning asks of synchronised batch normalisation, which is that of the
// segments with an op STAT. Its sums are what STAT writes, and what its two backward ops share with
// each other alone. The passes read them once they are summed over all ranks that have the op, and
// those of their own micro-step; nobody's are in a sum that were not made anew.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/check/buckets.h"

namespace trainyard::check {

// Of one program of all ranks, as it is rehearsed.
class Statistics {
 public:
  Statistics(const Scope& scope, const std::string& program);

  // Whether what stands in the bucket are such sums.
  bool is_summed(const Bucket& bucket) const;
  // The sums that an op must read; of an op that needs none, and of one whose sums are nowhere,
  // nothing.
  std::vector<plan::Access> wanted(std::int32_t rank, const plan::Op& op) const;
  // Whether an op hands on a gradient that depends on the sums of others, and there are none.
  bool lacks_gradient_sums(std::int32_t rank, const plan::Op& op) const;
  // Whether all ranks that normalise together are among these.
  bool over_all(const std::vector<std::int32_t>& members, std::int32_t segment) const;

  void write(std::int32_t rank, const plan::Op& op);
  bool of_its_micro_step(std::int32_t rank, const plan::Op& op, const plan::Access& sums) const;

 private:
  struct Sums {
    std::vector<plan::Access> of_inputs, of_gradients;
  };
  void find(const plan::RankPlan& rank, const plan::Program& program);
  const Sums* sums_of(std::int32_t rank, const plan::Op& op) const;

  std::map<std::pair<std::int32_t, std::int32_t>, Sums> sums_;  // by rank and segment
  std::map<std::int32_t, std::set<std::int32_t>> ranks_;        // by segment
  std::set<std::pair<std::int32_t, std::int32_t>> buffers_;     // rank, buffer
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t>
      micro_;  // by rank and buffer: of whom what is there comes
};

}  // namespace trainyard::check
