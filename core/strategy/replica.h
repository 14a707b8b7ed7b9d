// SPDX-License-Identifier: GPL-3.0-or-later
// Common part of data-parallel strategies: a full model on a rank, its buffers, and the compute ops
// of a step. A strategy defines the groups that sum buckets; without groups nothing is sent.
#pragma once

#include <vector>

#include "core/experiment/buckets.h"
#include "core/plan/plan.h"

namespace trainyard::strategy {

int moments(const experiment::OptimizerSpec& optimizer);  // number of moments per parameter

using experiment::Bucket;

// Returns the plan of one rank: programs train and, if needed, tail, tail2, ..., evaluate and
// evaluate_tail. Steps of different batch sizes in an epoch have separate programs, since gradients
// include the global batch size: each sample has weight 1/batch. A rank without samples zeroes its
// gradients and reduces with the others. `group`: group that sums every bucket, -1 for none. With
// synchronized batch norm the next group sums its statistics; with vertical sharding the next one
// exchanges rows. All these groups have the same ranks.
plan::RankPlan replica(const experiment::Resolved& experiment, std::int32_t rank,
                       const std::vector<Bucket>& buckets, std::int32_t group);

// Adds dependencies of loads: samples may be loaded when no op of the previous step reads the old
// ones. The previous step may have more micro-steps than the waiting one, but at most as many as
// the longest. `replica` does this; a strategy that drops ops must call it again.
void order_loads(plan::RankPlan& rank);

// Returns the plan of an evaluator: programs evaluate and evaluate_tail of one device, over all
// held-out samples.
plan::RankPlan evaluator(const experiment::Resolved& experiment, std::int32_t rank);

// Returns the schedule. Evaluations are omitted if separate ranks run them.
plan::Schedule schedule(const experiment::Resolved& experiment);

// Returns the group of all ranks, in order.
plan::Group world_group(const experiment::Resolved& experiment);

bool is_training(const plan::Program& program);

}  // namespace trainyard::strategy
