// SPDX-License-Identifier: GPL-3.0-or-later
// Mixed precision, as a pass over a rank's finished plan of any strategy. Linear layers and
// convolutions read a 16-bit cast of their parameters from buffer "halves", at the same offsets as
// in the source buffer. An op CAST writes it before the first pass of a program that reads the
// parameters. CAST runs again after the parameters were overwritten, or after another unit was
// gathered to their slot in the buffer. So a pass always reads a cast of the current parameters,
// and casts need not persist between steps.
//
// With fp16, LOSS multiplies its gradient by the scale in buffer "loss_scale", CLIP divides the
// gradients by that scale, and SCALE, the last op of a step, sets the scale of the next step
// (run/bind/loss_scale.h).
#pragma once

#include "core/experiment/resolve.h"
#include "core/plan/plan.h"

namespace trainyard::strategy {

plan::RankPlan in_mixed_precision(plan::RankPlan rank, const experiment::Resolved& experiment);

}  // namespace trainyard::strategy
