// SPDX-License-Identifier: GPL-3.0-or-later
// Plan of a mesh of data x pipeline x tensor (experiment/mesh.h): common part of model_parallel,
// pipeline, tensor_parallel and hybrid.
#pragma once

#include "core/base/result.h"
#include "core/experiment/resolve.h"
#include "core/plan/plan.h"

namespace trainyard::strategy {

// Creates the plan, with stages in the order of experiment::schedule_of (strategy.stages). Its
// collectives are not expanded. For each output or gradient of a micro-batch that is transferred
// between stages, there is one broadcast in a group of two ranks. There is one all-reduce for each
// sum of a micro-batch among the tensor ranks of a stage, and one among replicas for each gradient
// bucket. In each replica only the first tensor rank of the last stage counts samples.
base::Result<plan::Plan> mesh_plan(const experiment::Resolved& experiment);

}  // namespace trainyard::strategy
