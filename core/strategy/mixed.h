// SPDX-License-Identifier: GPL-3.0-or-later
// Mixed precision, as a pass over the finished plan of a rank, whatever strategy made it. Linear
// layers and convolutions compute by what CAST has made of their parameters, in the buffer
// "halves", where these lie as in the buffer that they are read from; before the first pass of a
// program that reads them, and again once they have been overwritten or another unit has taken
// their place. So what is cast is always what the pass would have read, and nothing of it lasts.
//
// In fp16 LOSS multiplies its gradient by the scale in "loss_scale", CLIP divides by it, and SCALE,
// the last op of a step, sets that of the next (run/loss_scale.h).
#pragma once

#include "core/experiment/resolve.h"
#include "core/plan/plan.h"

namespace trainyard::strategy {

plan::RankPlan in_mixed_precision(plan::RankPlan rank, const experiment::Resolved& experiment);

}  // namespace trainyard::strategy
