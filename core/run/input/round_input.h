// SPDX-License-Identifier: GPL-3.0-or-later
// Loads the samples of rounds on request, because rounds are not known in advance.
#pragma once

#include <memory>

#include "core/compute/compute.h"
#include "core/data/input_pipeline.h"
#include "core/run/bind/bound_plan.h"

namespace trainyard::run {

// Copies a batch to its destination in the plan.
void load(compute::Compute& compute, const data::Batch& batch, const BoundLoad& into);

class RoundInput {
 public:
  // `rank`: if the sampler shards steps, only this rank's part of a round is loaded; else the full
  // round.
  RoundInput(std::shared_ptr<const data::Dataset> dataset, data::Sampler sampler, int rank,
             std::int64_t max_samples);

  // Returns a batch, valid until the next call with other arguments.
  const data::Batch& take(std::int64_t step, int micro);
  // true if the batch is the last micro-step of its step
  bool is_last_micro_step() const { return taken_.last; }

 private:
  std::shared_ptr<const data::Dataset> dataset_;
  data::MicroBatches micro_batches_;
  data::MicroBatch taken_;
  data::Batch batch_;
};

}  // namespace trainyard::run
