// SPDX-License-Identifier: GPL-3.0-or-later
// The ops of a replica's programs: one step of training, one of evaluation.
#pragma once

#include <vector>

#include "core/experiment/recomputation.h"
#include "core/strategy/replica.h"

namespace trainyard::strategy {

// Whole buffers. Those of clipping are invalid where nothing is clipped.
struct ReplicaBuffers {
  plan::Access parameters, gradients, input, labels, metrics, local_norms, reduced_norms, factor,
      statistics, rate;
  plan::Access running, sample_numbers;  // of batch normalisation and of dropout; invalid without
  std::vector<plan::Access> moments, activations,
      activation_gradients;  // the latter two by segment, as are:
  std::vector<plan::Access> partial_gradients, sums,
      gradient_sums;             // invalid where a segment has none
  plan::Access micro_gradients;  // of one segment; invalid where nothing is added to a gradient
};

// What travels of a bucket in one collective: where it lies in the buffer `encoded`, and what of
// that the rank itself writes.
struct Encoded {
  std::int32_t number = 0;  // of the collective
  plan::OpKind collective = plan::OpKind::all_reduce;
  plan::Access whole, own;
};

// Of gradient compression. The residual is invalid without error feedback; guess and basis are
// those of power_sgd.
struct CompressionBuffers {
  plan::Access residual, squared_errors, guess, basis;
  std::vector<std::vector<Encoded>>
      encoded;  // by bucket, in the order of its collectives; empty: nothing is compressed
};

// Of synchronised batch normalisation. Its sums have a group of their own, so that they wait for no
// gradient: the passes wait for them.
struct SummedStatistics {
  std::int32_t group = -1;  // -1: nothing is synchronised
  // By segment, of the collective forward; the one backward has the next number. -1: it is none of
  // these.
  std::vector<std::int32_t> numbers;
};
SummedStatistics summed_statistics(const model::Model& model, std::int32_t group,
                                   std::int32_t first);  // numbers from `first` on

// Of vertical sharding: what a rank computes of the first layer for the rows of all ranks, by its
// own columns. Rows are exchanged in a group of their own. In micro-step m collective
// `first_number` + 2 m sums over columns, and the next gathers gradients.
struct SharedColumns {
  plan::LaneId lane;  // invalid: the rank has all columns
  std::int32_t group = -1, first_number = 0;
  plan::Columns columns;
  plan::Access sums,
      gradients;         // before the first activation, of the rows of all ranks; whole buffers
  plan::Access weights;  // packed: of the weights, or of their gradient, the own columns
};

// The rows of one micro-step: of all ranks, and of these the rank's own.
struct MicroRows {
  std::int64_t all = 0, own_first = 0, own = 0;
};

// What all programs of a rank have in common. Its lanes are input, compute and, each with its
// group, those of buckets, of statistics and of rows, in this order, as far as they are there.
struct Replica {
  const experiment::Resolved& resolved;
  const std::vector<Bucket>& buckets;
  std::int32_t group = -1;  // that sums every bucket; -1: none
  bool averages_weights =
      false;  // buckets of parameters, each rank's after its own update; needs a group
  ReplicaBuffers buffers;
  CompressionBuffers compression;
  SummedStatistics statistics;
  SharedColumns shared_columns = {};
  std::vector<std::int32_t> slots =
      {};  // by buffer, of how many micro-steps it has the rows side by side; empty: of one each
  experiment::Recomputation recomputation = {};

  std::int32_t slots_of(plan::BufferId buffer) const {
    return slots.empty() ? 1 : slots[buffer.index()];
  }
  bool shares_columns() const { return shared_columns.lane.valid(); }
};

// What a step takes: the rank itself, and who takes most; by micro-step the rows of all ranks,
// where columns are shared.
struct SamplesOfStep {
  std::int64_t own = 0, most = 0;
  std::vector<MicroRows> rows = {};
};

// The samples of the step are taken in micro-steps of training.batch_per_rank, the last of which
// may be shorter. The gradients of the first overwrite, those of later ones are added; what is
// reduced is the sum, while the last backward pass goes on. Where weights are averaged, each
// segment is updated by the rank's own gradient, weighed, and summed with those of the others
// instead. With synchronised batch normalisation, and where columns are shared, all ranks take the
// micro-steps of the one with most samples: who has none left adds nothing to the sums, and
// computes for the rows of others by its columns.
std::vector<plan::Op> train(const Replica& replica, const SamplesOfStep& samples);
std::vector<plan::Op> evaluate(const Replica& replica, const SamplesOfStep& samples);

}  // namespace trainyard::strategy
