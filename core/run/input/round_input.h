// SPDX-License-Identifier: GPL-3.0-or-later
// Samples of rounds that are not known in advance: loaded on request.
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
  // `rank`: its part of a round is loaded if the sampler shards steps; else the full round.
  RoundInput(std::shared_ptr<const data::Dataset> dataset, data::Sampler sampler, int rank,
             std::int64_t max_samples);

  // Valid until the next call with other arguments.
  const data::Batch& take(std::int64_t step, int micro);
  bool is_last_micro_step() const { return taken_.last; }  // last micro-step of its step

 private:
  std::shared_ptr<const data::Dataset> dataset_;
  data::MicroBatches micro_batches_;
  data::MicroBatch taken_;
  data::Batch batch_;
};

}  // namespace trainyard::run
