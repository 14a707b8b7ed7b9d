// SPDX-License-Identifier: GPL-3.0-or-later
// Which samples a rank takes in, micro-step by micro-step.
#pragma once

#include <cstdint>
#include <vector>

#include "core/data/sampler.h"

namespace trainyard::data {

enum class Rows {
  own,  // the rank's part of every global batch
  all,  // those of all ranks, rank after rank: for a rank that has some columns of every sample
};

struct MicroBatch {
  std::vector<std::int64_t> indices;
  std::int64_t own_first = 0, own = 0;  // of these, the rank's part
  bool last = true;                     // of its step
};

// A micro-step takes `most_samples` of each rank's part of the step, until nobody has any left. A
// step without samples has one micro-step, which is empty.
class MicroBatches {
 public:
  // Where the sampler shares steps out, `rank`'s part; where it does not, all of them.
  MicroBatches(Sampler sampler, std::int64_t rank, std::int64_t most_samples, Rows rows);

  void take(std::int64_t step, std::int64_t micro, MicroBatch& batch);

 private:
  void append(std::int64_t step, std::int64_t micro, std::int64_t rank, MicroBatch& batch);

  Sampler sampler_;
  std::int64_t rank_, most_samples_;
  Rows rows_;
};

}  // namespace trainyard::data
