// SPDX-License-Identifier: GPL-3.0-or-later
// Ops of a replica's programs: training step and evaluation.
#pragma once

#include <vector>

#include "core/experiment/recomputation.h"
#include "core/strategy/replica.h"

namespace trainyard::strategy {

// Accesses to full buffers. Those for clipping are invalid without clipping.
struct ReplicaBuffers {
  plan::Access parameters, gradients, input, labels, metrics, local_norms, reduced_norms, factor,
      statistics, rate;
  plan::Access running, sample_numbers;  // of batch norm and of dropout; invalid without these
  std::vector<plan::Access> moments, activations,
      // `activations` and `activation_gradients` are by segment, like the following:
      activation_gradients;
  std::vector<plan::Access> partial_gradients, sums,
      gradient_sums;             // invalid for segments without them
  plan::Access micro_gradients;  // for one segment; invalid if no gradient is accumulated
};

// Payload of a bucket in one collective: its span in buffer `encoded`, and the part of it that the
// rank writes.
struct Encoded {
  std::int32_t number = 0;  // number of the collective
  plan::OpKind collective = plan::OpKind::all_reduce;
  plan::Access whole, own;
};

// Buffers of gradient compression. The residual is invalid without error feedback; guess and basis
// are for power_sgd.
struct CompressionBuffers {
  plan::Access residual, squared_errors, guess, basis;
  std::vector<std::vector<Encoded>>
      encoded;  // by bucket, in the order of its collectives; empty: no compression
};

// Synchronized batch norm. Its sums have their own group, so that they do not queue behind
// gradients, since passes wait for them.
struct SummedStatistics {
  std::int32_t group = -1;  // -1: not synchronized
  // By segment: number of the forward collective; the backward one has the next number. -1: not a
  // synchronized batch norm.
  std::vector<std::int32_t> numbers;
};
SummedStatistics summed_statistics(const model::Model& model, std::int32_t group,
                                   std::int32_t first);  // numbers start at `first`

// Vertical sharding: a rank computes the first layer's products for the rows of all ranks, with its
// columns. Rows are exchanged in a separate group. In micro-step m collective `first_number` + 2 m
// sums over columns, and the next one gathers gradients.
struct SharedColumns {
  plan::LaneId lane;  // invalid: the rank has all columns
  std::int32_t group = -1, first_number = 0;
  plan::Columns columns;
  plan::Access sums,
      gradients;         // before the first activation, for the rows of all ranks; full buffers
  plan::Access weights;  // packed local columns of the weights or their gradient
};

// Rows of one micro-step: of all ranks, and this rank's among them.
struct MicroRows {
  std::int64_t all = 0, own_first = 0, own = 0;
};

// Properties that all programs of a rank share. Its lanes are, in this order and if they exist:
// input, compute, and those of buckets, statistics and rows, each with its group.
struct Replica {
  const experiment::Resolved& resolved;
  const std::vector<Bucket>& buckets;
  std::int32_t group = -1;  // group that sums every bucket; -1: none
  bool averages_weights =
      false;  // averages buckets of parameters, after each rank's local update; requires a group
  ReplicaBuffers buffers;
  CompressionBuffers compression;
  SummedStatistics statistics;
  SharedColumns shared_columns = {};
  std::vector<std::int32_t> slots =
      {};  // by buffer: number of micro-steps whose rows it holds side by side; empty: one each
  experiment::Recomputation recomputation = {};

  std::int32_t slots_of(plan::BufferId buffer) const {
    return slots.empty() ? 1 : slots[buffer.index()];
  }
  bool shards_columns() const { return shared_columns.lane.valid(); }
};

// Samples of a step: of this rank, and of the rank with the most; with vertical sharding also the
// rows of all ranks, by micro-step.
struct SamplesOfStep {
  std::int64_t own = 0, most = 0;
  std::vector<MicroRows> rows = {};
};

// Return the ops of a program. The samples are processed in micro-steps of training.batch_per_rank,
// the last of which may be shorter. Gradients of the first overwrite, those of later ones
// accumulate. The sum is reduced during the last backward pass. With weight averaging, each segment
// is instead updated with the local gradient, weighted, and summed with those of the others. With
// synchronized batch norm or vertical sharding, all ranks run the micro-steps of the rank with the
// most samples: a rank without samples adds nothing to the sums, and computes its columns for the
// rows of others.
std::vector<plan::Op> train(const Replica& replica, const SamplesOfStep& samples);
std::vector<plan::Op> evaluate(const Replica& replica, const SamplesOfStep& samples);

}  // namespace trainyard::strategy
