// SPDX-License-Identifier: GPL-3.0-or-later
// Loss scaling for fp16, in which a gradient below 6e-8 is 0 and one above 65504 infinite
// (Micikevicius et al. 2018). LOSS multiplies its gradient by the scale, and CLIP divides by it.
// SCALE sets the scale of the next step by the rule of torch.amp.GradScaler. It halves the scale
// after a non-finite gradient, whose update is skipped, and doubles it after a number of
// consecutive finite ones. All ranks keep the same scale, because they decide by the factor of the
// update, which is equal on all ranks.
#pragma once

#include "core/run/bind/bound_plan.h"

namespace trainyard::run {

// Contents of buffer "loss_scale".
struct LossScale {
  double scale = 1;
  double finite_steps = 0;  // number of consecutive finite steps since the last change
  bool operator==(const LossScale&) const = default;
};

LossScale after_step(LossScale now, bool finite, const LossScaling& rule);

// Initializes the scale before the first step. Does nothing without loss scaling.
void begin_loss_scale(const BoundPlan& bound, const LossScaling& rule);

// Runs a SCALE op. Returns a Problem if the scale would fall below its minimum.
base::Result<void> adjust_loss_scale(const BoundPlan& bound, const LossScaling& rule);

}  // namespace trainyard::run
