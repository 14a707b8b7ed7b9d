// SPDX-License-Identifier: GPL-3.0-or-later
// Duties of ranks in strategies in which ranks differ, and what a strategy requires of the drawing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/experiment/experiment.h"

namespace trainyard::experiment {

inline constexpr int kNoRank = -1;

// Returns the rank that keeps the variables in central_storage and takes no samples: the worker on
// a cpu. Returns kNoRank for other strategies, if there is not exactly one worker on a cpu, or if
// there is no other worker.
int storage_rank(const Experiment& experiment);

// Number of ranks that take samples.
std::int64_t count_trainers(const Experiment& experiment);

// True if a rank has all trained parameters at the end. In data_parallel only rank 0 has all
// parameters, because the other ranks receive parameters at every step. A parameter server has only
// its share of the parameters.
bool keeps_parameters(const Experiment& experiment, int rank);

// Returns "storage", or the role of the drawn device: "worker", "chief", "parameter_server",
// "evaluator".
std::string_view duty_of(const Experiment& experiment, int rank);

// The only all-reduce algorithm that a strategy supports, and the reason, for messages.
struct FixedAlgorithm {
  collective::Algorithm algorithm;
  std::string_view reason;
};
std::optional<FixedAlgorithm> fixed_algorithm(StrategyKind kind);

// Returns the only all-reduce algorithm that a strategy supports; the document must name this
// algorithm or `auto`. Returns nothing for strategies that support several.
std::optional<FixedAlgorithm> required_all_reduce(StrategyKind kind);

// True if every rank trains local parameters, so that there is no global gradient.
bool has_local_parameters(StrategyKind kind);

// Returns a problem for each requirement of the strategy that the document does not meet. The
// drawing must be valid and have workers.
base::Problems duty_problems(const Experiment& experiment);

}  // namespace trainyard::experiment
