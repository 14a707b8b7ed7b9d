// SPDX-License-Identifier: GPL-3.0-or-later
// Adds vertical sharding to a replica's plan. Each rank multiplies its input columns by the first
// layer's weights, for the rows of all ranks. The products are reduce-scattered, so that each rank
// gets the sums for its rows. The remaining layers are as in any replica. In the backward pass, the
// gradients of all rows are gathered, to compute the weight gradient of the local columns. In each
// rank's gradient, the columns of other ranks are zero. So the sum of these gradients over ranks is
// the full gradient.
//
// Ops of micro-step 0, with O outputs of the first layer:
//   LOAD.m0      loads the rank's columns of all rows
//   PART.s0.m0   multiplies them by the weights
//   RS.b1 row O  sums the products over ranks; each rank gets its rows, of O elements each
//   F.s0.m0      adds the bias and applies the activation
//   ...          the other layers, as in any replica
//   B.s0.m0      computes the gradients of the rank's rows, before the activation
//   AG.b2 row O  gathers the gradients of the rows of all ranks
//   W.s0.m0      computes the weight gradient of the rank's columns
#pragma once

#include "core/strategy/replica_step.h"

namespace trainyard::strategy {

// Appends buffers and a lane. Changes the input to hold the local columns of the rows of all ranks.
// `first_number`: index of the first collective.
SharedColumns share_columns(const experiment::Resolved& experiment, std::int32_t rank,
                            std::int32_t group, std::int32_t first_number, plan::Access& input,
                            plan::RankPlan& plan);

// Returns the rank's rows in the micro-steps of a step, or in the rounds of an evaluation.
// `rows_of_all`: rows of all ranks together.
std::vector<MicroRows> rows_of_rank(const std::vector<std::int64_t>& rows_of_all, std::int64_t rank,
                                    std::int64_t ranks);

// The following functions create or change the ops of one micro-step, without lane and
// dependencies.
void take_columns(const Replica& replica, const MicroRows& rows, plan::Op& load);
plan::Op partial_products(const Replica& replica, const MicroRows& rows);
void finish_forward(const Replica& replica, const MicroRows& rows,
                    plan::Op& forward);  // `forward`: op of a replica, which reads the full input
// changes a backward op to write the gradients of the rank's rows, which are then gathered
void scatter_gradient_rows(const Replica& replica, const MicroRows& rows, plan::Op& backward);
void take_columns_of_weight(const Replica& replica, const MicroRows& rows,
                            plan::Op& backward_weight);

// These functions return the buffers of the two collectives of a micro-step: the sums of products,
// and the gathered gradients.
plan::Access sums_of(const Replica& replica, const MicroRows& rows);
plan::Access gradients_of(const Replica& replica, const MicroRows& rows);
std::int64_t row_of(const Replica& replica);  // number of elements of a row of the products

}  // namespace trainyard::strategy
