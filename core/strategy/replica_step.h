// SPDX-License-Identifier: GPL-3.0-or-later
// Ops of a replica's programs: training step and evaluation.
#pragma once

#include <vector>

#include "core/experiment/recomputation.h"
#include "core/strategy/replica.h"

namespace trainyard::strategy {

// Accesses to the full buffers of a replica. The buffers for clipping are invalid without clipping.
struct ReplicaBuffers {
  plan::Access parameters, gradients, input, labels, metrics, local_norms, reduced_norms, factor,
      statistics, rate;
  // running statistics of batch norm, and sample indices for dropout; invalid if not needed
  plan::Access running, sample_numbers;
  std::vector<plan::Access> moments, activations,
      // `activations` and all following vectors are by segment
      activation_gradients;
  std::vector<plan::Access> partial_gradients, sums,
      gradient_sums;             // invalid for segments without such a buffer
  plan::Access micro_gradients;  // as long as one segment; invalid if no gradient is accumulated
};

// Encoded payload of a bucket in one collective: its span in buffer `encoded`, and the part of this
// span that the rank writes.
struct Encoded {
  std::int32_t number = 0;  // index of the collective
  plan::OpKind collective = plan::OpKind::all_reduce;
  plan::Access whole, own;
};

// Buffers of gradient compression. `residual` is invalid without error feedback. `guess` and
// `basis` are valid only for power_sgd.
struct CompressionBuffers {
  plan::Access residual, squared_errors, guess, basis;
  // encoded payloads of each bucket: one per collective of the bucket, in order; empty: no
  // compression
  std::vector<std::vector<Encoded>> encoded;
};

// Synchronized batch norm. Its sums are all-reduced in a separate group. Passes wait for these
// sums, so their collectives must not queue behind the collectives of gradients.
struct SummedStatistics {
  std::int32_t group = -1;  // group that sums the batch norm sums; -1: not synchronized
  // Index of the forward collective of each segment; the backward collective has the next number.
  // -1: the segment is not a synchronized batch norm.
  std::vector<std::int32_t> numbers;
};
SummedStatistics summed_statistics(const model::Model& model, std::int32_t group,
                                   std::int32_t first);  // `first`: index of the first collective

// Vertical sharding: each rank has some input columns of all rows, and multiplies them by the first
// layer's weights. Rows are exchanged in a separate group. In micro-step m, collective
// `first_number` + 2 m sums the products over columns, and the next one gathers gradients.
struct SharedColumns {
  plan::LaneId lane;  // invalid: the rank has all columns
  std::int32_t group = -1, first_number = 0;
  plan::Columns columns;
  // full buffers that hold, for the rows of all ranks, values before the first activation
  plan::Access sums, gradients;
  plan::Access weights;  // the rank's columns of the weights or of their gradient, packed
};

// Rows of one micro-step. `all`: number of rows of all ranks. `own_first`: index of this rank's
// first row. `own`: number of this rank's rows.
struct MicroRows {
  std::int64_t all = 0, own_first = 0, own = 0;
};

// Properties of a rank that are the same for all its programs. The rank has the lanes input,
// compute, buckets, statistics and rows, in this order and as far as they exist. Each of the last
// three lanes has a separate group.
struct Replica {
  const experiment::Resolved& resolved;
  const std::vector<Bucket>& buckets;
  std::int32_t group = -1;  // group that sums every bucket; -1: none
  // ranks update separately and then average parameters, bucket by bucket; requires a group
  bool averages_weights = false;
  ReplicaBuffers buffers;
  CompressionBuffers compression;
  SummedStatistics statistics;
  SharedColumns shared_columns = {};
  // number of slots of each buffer, that is, number of micro-steps whose rows the buffer holds at
  // once; empty: all buffers have one slot
  std::vector<std::int32_t> slots = {};
  experiment::Recomputation recomputation = {};

  std::int32_t slots_of(plan::BufferId buffer) const {
    return slots.empty() ? 1 : slots[buffer.index()];
  }
  bool shards_columns() const { return shared_columns.lane.valid(); }
};

// Number of samples in a step. `own`: samples of this rank. `most`: samples of the rank with the
// most samples. `rows`: rows of all ranks in each micro-step, with vertical sharding.
struct SamplesOfStep {
  std::int64_t own = 0, most = 0;
  std::vector<MicroRows> rows = {};
};

// Each returns the ops of a program. The program processes its samples in micro-steps of
// training.batch_per_rank samples; the last may have fewer. The first micro-step overwrites
// gradients, later ones accumulate. The sum is reduced during the last backward pass. With weight
// averaging, each segment is instead updated with the local gradient; then its parameters are
// multiplied by the rank's weight and summed over ranks. With synchronized batch norm or vertical
// sharding, all ranks run the micro-steps of the rank with the most samples. A rank that has no
// samples left then adds zeros to the sums, and computes its columns for the rows of others.
std::vector<plan::Op> train(const Replica& replica, const SamplesOfStep& samples);
std::vector<plan::Op> evaluate(const Replica& replica, const SamplesOfStep& samples);

}  // namespace trainyard::strategy
