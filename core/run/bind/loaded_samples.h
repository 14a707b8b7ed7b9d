// SPDX-License-Identifier: GPL-3.0-or-later
// Number of samples that the load ops of a plan load. It determines how a rank divides a step into
// micro-steps.
#pragma once

#include "core/model/model.h"
#include "core/plan/plan.h"

namespace trainyard::run {

// Returns the number of samples that a load op loads, derived from the size of the labels, or of
// another output if it loads no labels. `model`: the model as the rank sees it
// (experiment::of_rank).
std::int64_t loaded_samples(const plan::RankPlan& rank, const plan::Op& load,
                            const model::Model& model);

// Returns the number of samples of a full micro-step: the most that any load op of the rank loads,
// at least 1. A step with more samples has further micro-steps.
std::int64_t micro_step_samples(const plan::RankPlan& rank, const model::Model& model);

}  // namespace trainyard::run
