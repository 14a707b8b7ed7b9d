// SPDX-License-Identifier: GPL-3.0-or-later
#include <cmath>

#include "core/run/bind/bound_plan.h"

namespace trainyard::run {

// Returns a Problem at a non-finite gradient if the run is to stop there. The rank that computed it
// detects it first, before the gradient is reduced.
base::Result<void> expect_finite(const BoundOp& op, const BoundPlan& bound, const Recipe& recipe,
                                 const model::Model& model) {
  if (!recipe.stops_at_non_finite) return {};
  const auto s = static_cast<std::size_t>(op.segment);
  const char* whose = nullptr;
  if (op.leaves_norm && !std::isfinite(bound.local_norms.as<double>()[model.owner(op.segment)]))
    whose = "this rank's gradient";
  if (op.kind == plan::OpKind::update && !std::isfinite(bound.statistics.as<double>()[3 * s]))
    whose = "the gradient that it would be updated by";
  if (whose == nullptr) return {};
  return base::fail(
      {base::ProblemCode::failed, "segment " + model.segments[s].name,
       std::string(whose) + " holds NaN or an infinite number, or one too large to be squared",
       "finite gradients, as training.non_finite is stop",
       "Lower the learning rate, clip gradients, look at the samples, or skip such updates."});
}

}  // namespace trainyard::run
