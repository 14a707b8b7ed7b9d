// SPDX-License-Identifier: GPL-3.0-or-later
// Loads the samples of a worker's rounds on request, because the server assigns rounds during the
// run.
#pragma once

#include <memory>

#include "core/compute/compute.h"
#include "core/data/input_pipeline.h"
#include "core/run/bind/bound_plan.h"

namespace trainyard::run {

// Copies a batch to the buffers that the plan's load op fills.
void load(compute::Compute& compute, const data::Batch& batch, const BoundLoad& into);

class RoundInput {
 public:
  // `rank`: rank whose part of a round is loaded, if the sampler shards steps; otherwise the full
  // round is loaded.
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
