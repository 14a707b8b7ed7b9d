// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks in a mesh of data x pipeline x tensor (experiment/mesh.h): what model_parallel, pipeline,
// tensor_parallel and hybrid have in common.
#pragma once

#include "core/base/result.h"
#include "core/experiment/resolve.h"
#include "core/plan/plan.h"

namespace trainyard::strategy {

// By strategy.stages, in the order of experiment::schedule_of. Coarse: one broadcast in a group of
// two for each output or gradient that crosses between stages, of one micro-batch; one all-reduce
// among the parts of a stage of what they sum of one micro-batch, and among replicas of each bucket
// of gradients. Of a replica only the first part of the last stage counts samples.
base::Result<plan::Plan> mesh_plan(const experiment::Resolved& experiment);

}  // namespace trainyard::strategy
