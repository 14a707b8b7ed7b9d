// SPDX-License-Identifier: GPL-3.0-or-later
// Determines which samples a rank loads in each micro-step.
#pragma once

#include <cstdint>
#include <vector>

#include "core/data/sampler.h"

namespace trainyard::data {

enum class Rows {
  own,  // Only the rank's part of every global batch.
  // The samples of all ranks, rank after rank. Used if a rank has only some feature columns, but of
  // every sample.
  all,
};

struct MicroBatch {
  std::vector<std::int64_t> indices;
  // This rank's part of `indices`: position of its first index, and their number.
  std::int64_t own_first = 0, own = 0;
  bool last = true;  // True for the last micro-step of its step.
};

// A micro-step takes up to `max_samples` of each rank's part of the step, until no rank has any
// left. A step without samples has one empty micro-step.
class MicroBatches {
 public:
  // Takes only the samples of `rank` if the sampler divides the samples of a step among ranks;
  // otherwise takes all samples.
  MicroBatches(Sampler sampler, std::int64_t rank, std::int64_t max_samples, Rows rows);

  void take(std::int64_t step, std::int64_t micro, MicroBatch& batch);

 private:
  void append(std::int64_t step, std::int64_t micro, std::int64_t rank, MicroBatch& batch);

  Sampler sampler_;
  std::int64_t rank_, max_samples_;
  Rows rows_;
};

}  // namespace trainyard::data
