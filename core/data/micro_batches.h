// SPDX-License-Identifier: GPL-3.0-or-later
// Determines which samples a rank loads in each micro-step.
#pragma once

#include <cstdint>
#include <vector>

#include "core/data/sampler.h"

namespace trainyard::data {

enum class Rows {
  own,  // Only the rank's part of every global batch.
  // The samples of all ranks, rank after rank. Used with vertical sharding, where a rank has only
  // some feature columns, but of every sample.
  all,
};

struct MicroBatch {
  std::vector<std::int64_t> indices;
  // Range of `indices` that this rank owns: position of the first, and number.
  std::int64_t own_first = 0, own = 0;
  bool last = true;  // True for the last micro-step of its step.
};

// Divides the samples of a step into micro-steps. Each takes up to `max_samples` of every rank's
// samples of the step, until no rank has any left. A step without samples has one empty micro-step.
class MicroBatches {
 public:
  // `rows`: the samples that `take` returns, only those of `rank` or those of all ranks.
  MicroBatches(Sampler sampler, std::int64_t rank, std::int64_t max_samples, Rows rows);

  void take(std::int64_t step, std::int64_t micro, MicroBatch& batch);

 private:
  void append(std::int64_t step, std::int64_t micro, std::int64_t rank, MicroBatch& batch);

  Sampler sampler_;
  std::int64_t rank_, max_samples_;
  Rows rows_;
};

}  // namespace trainyard::data
