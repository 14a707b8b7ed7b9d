// SPDX-License-Identifier: GPL-3.0-or-later
// Binds gradient compression: from ops of a plan to ops of a device.
#pragma once

#include <functional>
#include <vector>

#include "core/compute/ops.h"
#include "core/run/bind/bound_plan.h"

namespace trainyard::run {

// Returns the device op of an encode or decode of `program`. `tensor` maps an access to memory.
compute::Op compression_op(const plan::Op& op, const plan::Program& program,
                           const plan::RankPlan& plan, const model::Model& model,
                           const Recipe& recipe, const std::vector<plan::Group>& groups,
                           const std::function<compute::Tensor(const plan::Access&)>& tensor);

// Returns BoundPlan::compression_ratio for a training step.
double compression_ratio(const plan::RankPlan& plan);

}  // namespace trainyard::run
