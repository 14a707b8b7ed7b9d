// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks that have but some layers each, and take all samples of a step in micro-batches: what model_parallel and pipeline have in common.
#pragma once

#include "core/base/result.h"
#include "core/experiment/resolve.h"
#include "core/plan/plan.h"

namespace trainyard::strategy {

// By strategy.stages, in the order of experiment::schedule_of. Coarse: one broadcast in a group of two for each output or gradient that crosses between stages,
// of one micro-batch. Only the rank of the last layer counts samples, for it alone has their loss.
base::Result<plan::Plan> stage_plan(const experiment::Resolved& experiment);

}  // namespace trainyard::strategy
