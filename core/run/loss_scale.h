// SPDX-License-Identifier: GPL-3.0-or-later
// The loss scale of fp16, in which a gradient below 6e-8 is 0 and one above 65504 infinite
// (Micikevicius et al. 2018). LOSS multiplies its gradient by it, CLIP divides again, and SCALE
// sets that of the next step by the rule of torch.amp.GradScaler: after a gradient that is not
// finite, which has changed no weight, half; after so many finite ones in a row, twice as much.
// Every rank goes by the factor of its update, which all have alike, so all have one scale.
#pragma once

#include "core/run/bound_plan.h"

namespace trainyard::run {

// What the buffer "loss_scale" holds.
struct LossScale {
  double scale = 1;
  double finite_steps = 0;  // in a row, since it was last changed
  bool operator==(const LossScale&) const = default;
};

LossScale after_step(LossScale now, bool finite, const LossScaling& rule);

// Before the first step. Where the loss is not scaled there is nothing to do.
void begin_loss_scale(const BoundPlan& bound, const LossScaling& rule);

// What a SCALE op does; a Problem where the scale would become less than the least.
base::Result<void> adjust_loss_scale(const BoundPlan& bound, const LossScaling& rule);

}  // namespace trainyard::run
