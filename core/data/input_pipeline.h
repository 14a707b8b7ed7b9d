// SPDX-License-Identifier: GPL-3.0-or-later
// Input pipeline: a background thread that prefetches the samples of the next steps.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "core/data/dataset.h"
#include "core/data/micro_batches.h"

namespace trainyard::data {

// Function that allocates the memory of a batch whose features are bytes.
using AllocateBytes = std::function<std::shared_ptr<std::byte>(std::int64_t bytes)>;

struct Batch {
  std::int64_t step = -1;
  std::int64_t micro = 0;  // Index of the micro-step within the step.
  std::int64_t samples = 0;
  // The samples of the batch that this rank owns: index of the first one, and number.
  std::int64_t own_first = 0, own = 0;
  std::vector<float> features;        // samples x features, row-major.
  std::vector<std::int32_t> labels;   // samples x labels of a sample.
  std::vector<std::int32_t> numbers;  // Sample numbers in the data set.

  // Table of the value of each byte (`Dataset::byte_values`). If the table is not null, the
  // features are in `bytes` and not in `features`.
  const ByteValues* byte_values = nullptr;
  std::shared_ptr<std::byte> bytes;
  std::int64_t room = 0;  // Capacity of `bytes`.
  void make_room(const AllocateBytes& of, std::int64_t count) {
    if (count > room) bytes = of(count), room = count;
  }
  std::span<std::uint8_t> as_bytes(std::int64_t count) const {
    return {reinterpret_cast<std::uint8_t*>(bytes.get()), static_cast<std::size_t>(count)};
  }
};

// Loads the samples of `taken` into the batch; the caller sets the step. If the data set stores
// features as bytes and `make_room` is given, the function fills `bytes` instead of `features`.
void fill(const Dataset& dataset, const MicroBatch& taken, Batch& batch,
          const AllocateBytes& make_room = {});

// Prefetches a rank's batches, `depth` ahead, on its own thread. Steps are in order, from
// `first_step` to before `end_step`. A step with more than `max_samples` per rank is split into
// several batches, one per micro-step; a step without samples has one empty batch. There is one
// consumer. It holds one batch at a time: it takes the batch, uses it, and releases it. No memory
// is allocated once each of the `depth` slots has held a full batch.
class InputPipeline {
 public:
  static constexpr std::int64_t kFullStep = std::numeric_limits<std::int64_t>::max();

  InputPipeline(std::shared_ptr<const Dataset> dataset, Sampler sampler, std::int64_t rank,
                std::int64_t first_step, std::int64_t end_step, int depth = 2,
                std::int64_t max_samples = kFullStep, Rows rows = Rows::own,
                AllocateBytes make_room = {});
  ~InputPipeline();  // May be called at any time; waits only for the batch being filled.
  InputPipeline(const InputPipeline&) = delete;
  InputPipeline& operator=(const InputPipeline&) = delete;

  // Returns the oldest batch that is not released; null if it is not ready, or after the last
  // batch.
  const Batch* try_next();
  // Like `try_next`, but waits until the batch is ready; must not be called after the last batch.
  const Batch& wait_next();
  void release();  // Releases the batch that was taken, for refilling.

 private:
  void fill_batches();
  bool fill_step(std::int64_t step, std::int64_t& batch);
  bool await_slot(std::int64_t batch);
  Batch& slot(std::int64_t batch) { return ring_[static_cast<std::size_t>(batch) % ring_.size()]; }

  std::shared_ptr<const Dataset> dataset_;
  MicroBatches micro_batches_;
  MicroBatch taken_;
  std::int64_t first_step_, end_step_;
  AllocateBytes make_room_;
  std::vector<Batch> ring_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Number of batches filled since the start, including released ones.
  std::int64_t filled_ = 0;
  std::int64_t released_ = 0;          // Number of batches released since the start.
  bool stop_ = false, ended_ = false;  // stop_: stop requested; ended_: all batches were filled.
  std::thread thread_;                 // Last member, because it uses all of the above.
};

}  // namespace trainyard::data
