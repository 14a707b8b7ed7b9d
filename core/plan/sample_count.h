// SPDX-License-Identifier: GPL-3.0-or-later
// Samples of a rank and of all ranks, which weight an average of parameters (McMahan et al. 2017,
// "Communication-Efficient Learning of Deep Networks from Decentralized Data", algorithm 1: client
// k has the weight n_k / n).
#pragma once

#include <set>

#include "core/plan/plan.h"

namespace trainyard::plan {

struct SampleCount {
  std::int64_t rank = 0, all_ranks = 0;
  auto operator<=>(const SampleCount&) const =
      default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 sees a 0 in it
};

// Returns the samples of the local steps since the last synchronizing step before `step`, including
// `step`.
SampleCount samples_to_average(const RankPlan& rank, const Schedule& schedule, std::int64_t step);

// Returns all distinct values of `samples_to_average` in a run.
std::set<SampleCount> all_samples_to_average(const RankPlan& rank, const Schedule& schedule);

}  // namespace trainyard::plan
