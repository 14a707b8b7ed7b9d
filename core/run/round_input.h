// SPDX-License-Identifier: GPL-3.0-or-later
// The samples of rounds that nobody knows before they begin: taken in when they are asked for.
#pragma once

#include <memory>

#include "core/compute/compute.h"
#include "core/data/input_pipeline.h"
#include "core/run/bound_plan.h"

namespace trainyard::run {

// Brings a batch to where the plan has it.
void load(compute::Compute& compute, const data::Batch& batch, const BoundLoad& into);

class RoundInput {
 public:
  // Where the sampler shares steps out, `rank`'s part of a round; where it does not, all of it.
  RoundInput(std::shared_ptr<const data::Dataset> dataset, data::Sampler sampler, int rank,
             std::int64_t most_samples);

  // Valid until the next call of another.
  const data::Batch& take(std::int64_t step, int micro);
  bool was_last() const { return taken_.last; }  // of its step

 private:
  std::shared_ptr<const data::Dataset> dataset_;
  data::MicroBatches micro_batches_;
  data::MicroBatch taken_;
  data::Batch batch_;
};

}  // namespace trainyard::run
