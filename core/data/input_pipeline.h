// SPDX-License-Identifier: GPL-3.0-or-later
// Which samples a step takes, and a background thread that has them ready.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "core/data/dataset.h"

namespace trainyard::data {

// Cuts each epoch's global permutation f(seed, epoch) into global batches, and each global batch into one contiguous
// slice a rank, so that one device and n ranks see the same samples in the same step. The last global batch of an epoch
// may be short: its slices differ by at most one sample and may be empty; every index is used exactly once an epoch.
// All of samples, batch_per_rank and ranks are at least 1.
class Sampler {
 public:
  Sampler(std::int64_t seed, std::int64_t samples, std::int64_t batch_per_rank, std::int64_t ranks);

  std::int64_t steps_per_epoch() const;  // full global batches, plus one when there is a tail
  std::int64_t full_steps_per_epoch() const;
  std::int64_t global_samples(std::int64_t step) const;  // of the global batch of `step`
  std::int64_t samples(std::int64_t step, std::int64_t rank) const;
  // The indices of `rank`'s slice of `step`, in order. Valid until the next call; one thread.
  std::span<const std::int64_t> indices(std::int64_t step, std::int64_t rank);

 private:
  std::int64_t seed_, samples_, batch_, ranks_;  // batch_: of all ranks together
  std::int64_t epoch_ = -1;
  std::vector<std::int64_t> permutation_;
};

// The contiguous part of [0, samples) that `rank` evaluates: {first, count}; parts differ by at most one.
std::pair<std::int64_t, std::int64_t> slice(std::int64_t samples, std::int64_t ranks, std::int64_t rank);

struct Batch {
  std::int64_t step = -1;
  std::int64_t samples = 0;
  std::vector<float> features;  // samples x features, row-major
  std::vector<std::int32_t> labels;
};

// Prefetches a rank's batches, `depth` ahead, on a thread of its own. Steps are taken in order, from `first_step` to
// before `end_step`. One consumer, which holds one batch at a time: take it, use it, release it. Nothing is allocated once
// each of the `depth` slots has held a full batch.
class InputPipeline {
 public:
  InputPipeline(std::shared_ptr<const Dataset> dataset, Sampler sampler, std::int64_t rank, std::int64_t first_step, std::int64_t end_step, int depth = 2);
  ~InputPipeline();  // at any moment; waits for the batch being filled, no longer
  InputPipeline(const InputPipeline&) = delete;
  InputPipeline& operator=(const InputPipeline&) = delete;

  const Batch* try_next();   // the oldest batch not released, if it is ready; else null (always, at end_step)
  const Batch& wait_next();  // the same, and blocks until it is ready; must not be asked beyond end_step
  void release();            // gives that batch back to be filled again; it must have been taken

 private:
  void fill_batches();
  void fill(std::int64_t step, Batch& batch);
  Batch& slot(std::int64_t batch) { return ring_[static_cast<std::size_t>(batch) % ring_.size()]; }

  std::shared_ptr<const Dataset> dataset_;
  Sampler sampler_;
  std::int64_t rank_, first_step_, batches_;
  std::vector<Batch> ring_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t filled_ = 0;    // batches ready or given back, since the start
  std::int64_t released_ = 0;  // batches given back
  bool stop_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace trainyard::data
