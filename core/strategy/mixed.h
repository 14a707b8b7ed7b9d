// SPDX-License-Identifier: GPL-3.0-or-later
// Mixed precision, as a pass over a rank's finished plan of any strategy. Linear layers and
// convolutions read the cast of their parameters in buffer "halves", at the same offsets as in the
// source buffer. CAST runs before the first pass of a program that reads the parameters, and again
// after they were overwritten or another unit took their place. So the cast always equals what the
// pass would have read, and does not persist.
//
// In fp16 LOSS multiplies its gradient by the scale in "loss_scale", CLIP divides by it, and SCALE,
// the last op of a step, sets the scale of the next step (run/bind/loss_scale.h).
#pragma once

#include "core/experiment/resolve.h"
#include "core/plan/plan.h"

namespace trainyard::strategy {

plan::RankPlan in_mixed_precision(plan::RankPlan rank, const experiment::Resolved& experiment);

}  // namespace trainyard::strategy
