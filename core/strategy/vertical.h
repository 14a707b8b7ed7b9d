// SPDX-License-Identifier: GPL-3.0-or-later
// What vertical sharding adds to a replica's plan. The first layer's products are made by columns,
// for the rows of all ranks, and summed to each rank's own rows; from there on all goes as in any
// replica. Backward, the gradients of all rows come back, for the gradient of the own columns of
// the weights: those of the other columns are zero, and the sum over ranks puts them together.
//
//   LOAD.m0 columns   PART.s0.m0 columns   RS.b1 row O   F.s0.m0 ... B.s0.m0   AG.b2 row O   W.s0.m0 columns
#pragma once

#include "core/strategy/replica_step.h"

namespace trainyard::strategy {

// Appends buffers and a lane, and makes the input hold the own columns of the rows of all.
// `first_number`: of the collectives.
SharedColumns share_columns(const experiment::Resolved& experiment, std::int32_t rank,
                            std::int32_t group, std::int32_t first_number, plan::Access& input,
                            plan::RankPlan& plan);

// Of the rank's rows in the micro-steps of a step, or in the rounds of an evaluation, in which all
// ranks together have so many.
std::vector<MicroRows> rows_of_rank(const std::vector<std::int64_t>& rows_of_all, std::int64_t rank,
                                    std::int64_t ranks);

// Ops of one micro-step, without lane and dependencies.
void take_columns(const Replica& replica, const MicroRows& rows, plan::Op& load);
plan::Op partial_products(const Replica& replica, const MicroRows& rows);
void finish_forward(const Replica& replica, const MicroRows& rows,
                    plan::Op& forward);  // of one that reads the whole input
void hand_out_gradient(const Replica& replica, const MicroRows& rows,
                       plan::Op& backward);  // of the rows of the rank
void take_columns_of_weight(const Replica& replica, const MicroRows& rows,
                            plan::Op& backward_weight);

// What the two collectives of a micro-step work on.
plan::Access sums_of(const Replica& replica, const MicroRows& rows);
plan::Access gradients_of(const Replica& replica, const MicroRows& rows);
std::int64_t row_of(const Replica& replica);  // numbers of one row

}  // namespace trainyard::strategy
