// SPDX-License-Identifier: GPL-3.0-or-later
// The ops of gradient compression, from a plan to what a device is asked for.
#pragma once

#include <functional>
#include <vector>

#include "core/run/bound_plan.h"

namespace trainyard::run {

// Of an encode or decode of `program`. `tensor` finds an access in memory.
compute::Op compression_op(const plan::Op& op, const plan::Program& program,
                           const plan::RankPlan& plan, const model::Model& model,
                           const Recipe& recipe, const std::vector<plan::Group>& groups,
                           const std::function<compute::Tensor(const plan::Access&)>& tensor);

// As BoundPlan has it: of a step of training.
double compression_ratio(const plan::RankPlan& plan);

}  // namespace trainyard::run
