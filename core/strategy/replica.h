// SPDX-License-Identifier: GPL-3.0-or-later
// Common part of data-parallel strategies: a full model on a rank, its buffers, and the compute ops
// of a step. A strategy adds the groups that sum buckets; without groups nothing is sent.
#pragma once

#include <vector>

#include "core/experiment/buckets.h"
#include "core/plan/plan.h"

namespace trainyard::strategy {

// returns the number of moments per parameter
int moments(const experiment::OptimizerSpec& optimizer);

using experiment::Bucket;

// Returns the plan of one rank: programs train and, if needed, tail, tail2, ..., evaluate and
// evaluate_tail. Steps with different batch sizes have separate programs, because gradients are
// weighted by 1 / (global batch size). A rank without samples zeroes its gradients and reduces with
// the others. `group`: group that sums every bucket; -1: none. With synchronized batch norm, the
// group with the next number sums its statistics. With vertical sharding, the group with the number
// after that exchanges rows. All these groups have the same ranks.
plan::RankPlan replica(const experiment::Resolved& experiment, std::int32_t rank,
                       const std::vector<Bucket>& buckets, std::int32_t group);

// Makes loads wait until no op of the previous step reads the old samples. That step may have run a
// program with more micro-steps than this one, so the loads wait for as many compute ops as the
// longest program has. `replica` calls this function. A strategy that removes ops must call it
// again.
void order_loads(plan::RankPlan& rank);

// Returns the plan of an evaluator: programs evaluate and evaluate_tail of one device, over all
// held-out samples.
plan::RankPlan evaluator(const experiment::Resolved& experiment, std::int32_t rank);

// Returns the schedule. Evaluations are omitted if separate ranks run them.
plan::Schedule schedule(const experiment::Resolved& experiment);

// Returns the group of all ranks, in the order of their numbers.
plan::Group world_group(const experiment::Resolved& experiment);

bool is_training(const plan::Program& program);

}  // namespace trainyard::strategy
