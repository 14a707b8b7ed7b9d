// SPDX-License-Identifier: GPL-3.0-or-later
// Who does what, where the ranks of a strategy do not all do the same; and what a strategy asks of
// the drawing for that.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/experiment/experiment.h"

namespace trainyard::experiment {

inline constexpr int kNobody = -1;

// Of central_storage the rank that keeps the variables of all and takes no samples: that of the
// worker on a cpu. kNobody for other strategies, where there is not just one such worker, and where
// it would be alone.
int storage_rank(const Experiment& experiment);

// Ranks that take samples.
std::int64_t count_trainers(const Experiment& experiment);

// Whether a rank ends with the trained parameters. Of data_parallel only rank 0: what the others
// have is made anew at every step. A parameter server has but its share.
bool keeps_parameters(const Experiment& experiment, int rank);

// "storage", else the role that its device is drawn with: "worker", "chief", "parameter_server",
// "evaluator".
std::string_view duty_of(const Experiment& experiment, int rank);

// The one way in which a strategy sums its gradients; of a strategy that leaves the choice,
// nothing.
struct FixedAlgorithm {
  collective::Algorithm algorithm;
  std::string_view reason;
};
std::optional<FixedAlgorithm> fixed_algorithm(StrategyKind kind);

// The one all-reduce that goes with a strategy, which must be named, or `auto`; of other strategies
// nothing.
std::optional<FixedAlgorithm> only_all_reduce(StrategyKind kind);

// Whether every rank trains parameters of its own, so that there is no gradient of all.
bool trains_apart(StrategyKind kind);

// What is missing for the strategy, of a drawing that is sound and has workers.
base::Problems duty_problems(const Experiment& experiment);

}  // namespace trainyard::experiment
