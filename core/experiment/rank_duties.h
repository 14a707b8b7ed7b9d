// SPDX-License-Identifier: GPL-3.0-or-later
// Roles of ranks in strategies whose ranks do not all do the same, and what a strategy requires of
// the drawing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/experiment/experiment.h"

namespace trainyard::experiment {

inline constexpr int kNoRank = -1;

// For central_storage, returns the rank that keeps the variables and takes no samples: the worker
// on a cpu. Returns kNobody for other strategies, if there is not exactly one such worker, or if it
// is the only worker.
int storage_rank(const Experiment& experiment);

// Number of ranks that take samples.
std::int64_t count_trainers(const Experiment& experiment);

// True if a rank ends with the trained parameters. In data_parallel only rank 0 does: the other
// ranks get parameters at every step. A parameter server has only its share.
bool keeps_parameters(const Experiment& experiment, int rank);

// Returns "storage", or the role of the drawn device: "worker", "chief", "parameter_server",
// "evaluator".
std::string_view duty_of(const Experiment& experiment, int rank);

// The only way in which a strategy sums gradients; nothing for a strategy with a choice.
struct FixedAlgorithm {
  collective::Algorithm algorithm;
  std::string_view reason;
};
std::optional<FixedAlgorithm> fixed_algorithm(StrategyKind kind);

// The only all-reduce that a strategy supports, which must be set explicitly or by `auto`; nothing
// for other strategies.
std::optional<FixedAlgorithm> required_all_reduce(StrategyKind kind);

// True if every rank trains local parameters, so that there is no global gradient.
bool has_local_parameters(StrategyKind kind);

// Returns problems of the strategy with a valid drawing that has workers.
base::Problems duty_problems(const Experiment& experiment);

}  // namespace trainyard::experiment
