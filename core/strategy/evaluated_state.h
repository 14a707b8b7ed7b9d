// SPDX-License-Identifier: GPL-3.0-or-later
// Running statistics of an evaluation. If batch normalization is not synchronized, each replica has
// its own running statistics, and a checkpoint contains those of the chief's replica. An evaluation
// therefore uses those of the chief's replica on all ranks (torch's DDP broadcasts buffers from
// rank 0 as well).
#pragma once

#include "core/experiment/resolve.h"
#include "core/plan/plan.h"

namespace trainyard::strategy {

// Adds the program "evaluate_state", which runs before every evaluation: the ranks of each group of
// replicas receive the running statistics of the chief's replica. Returns the plan unchanged if no
// evaluation needs them, or if a single rank evaluates.
plan::Plan with_evaluated_state(plan::Plan plan, const experiment::Resolved& experiment);

}  // namespace trainyard::strategy
