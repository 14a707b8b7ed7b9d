// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/core.h>

#include <cmath>

#include "core/run/bind/bound_plan.h"

namespace trainyard::run {

// Returns a Problem if a gradient is not finite and the run must stop in this case. The rank that
// computed the gradient detects this first, before the gradient is reduced.
base::Result<void> expect_finite(const BoundOp& op, const BoundPlan& bound, const Recipe& recipe,
                                 const model::Model& model) {
  if (!recipe.stops_at_non_finite) return {};
  const auto s = static_cast<std::size_t>(op.segment);
  const char* whose = nullptr;
  if (op.leaves_norm && !std::isfinite(bound.local_norms.as<double>()[model.owner(op.segment)]))
    whose = "the gradient of this rank";
  if (op.kind == plan::OpKind::update && !std::isfinite(bound.statistics.as<double>()[3 * s]))
    whose = "the gradient of the update";
  if (whose == nullptr) return {};
  return base::fail(
      {"non_finite_gradient", base::ProblemCode::failed,
       fmt::format("layer {}", model.segments[s].name),
       fmt::format("{} contains NaN, an infinite number, or a number whose square overflows",
                   whose),
       "finite gradients, because training.non_finite is stop",
       "Lower the learning rate, clip gradients, check the samples, or skip such updates."});
}

}  // namespace trainyard::run
