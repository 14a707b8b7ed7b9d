// SPDX-License-Identifier: GPL-3.0-or-later
// What data-parallel strategies have in common: a whole model on a rank, its buffers, and the
// compute ops of a step. A strategy says which groups sum which buckets; without groups nothing is
// sent.
#pragma once

#include <vector>

#include "core/experiment/buckets.h"
#include "core/plan/plan.h"

namespace trainyard::strategy {

int moments(const experiment::OptimizerSpec&
                optimizer);  // running averages that it keeps of each parameter

using experiment::Bucket;

// The plan of one rank: programs train, and where needed tail, tail2, ..., evaluate and
// evaluate_tail. A step of each stretch of an epoch is a program of its own, as the whole batch of
// the step is in its gradients: each sample counts 1 / that. A rank without samples in it sets its
// gradients to zero and reduces with the others. `group` is the number of the group that sums every
// bucket, -1 for none. Where the experiment synchronises batch normalisation, the group after that
// sums its statistics; where columns are shared, the next one exchanges rows. They have the same
// ranks.
plan::RankPlan replica(const experiment::Resolved& experiment, std::int32_t rank,
                       const std::vector<Bucket>& buckets, std::int32_t group);

// Samples may be brought in when nobody reads the last ones of the step before any more. That may
// have more micro-steps than the step that waits, but none more than the longest. `replica` did so;
// a strategy that drops ops does it again.
void order_loads(plan::RankPlan& rank);

// Of a rank that evaluates alone: the programs evaluate and evaluate_tail of one device, over all
// held-out samples.
plan::RankPlan evaluator(const experiment::Resolved& experiment, std::int32_t rank);

// Without evaluations where a rank has no other work than these.
plan::Schedule schedule(const experiment::Resolved& experiment);

// All ranks, in order.
plan::Group everyone(const experiment::Resolved& experiment);

bool is_training(const plan::Program& program);

}  // namespace trainyard::strategy
