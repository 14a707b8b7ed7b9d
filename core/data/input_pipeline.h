// SPDX-License-Identifier: GPL-3.0-or-later
// A background thread that has the samples of the next steps ready.
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

// Memory for so many bytes.
using MakeRoom = std::function<std::shared_ptr<std::byte>(std::int64_t bytes)>;

struct Batch {
  std::int64_t step = -1;
  std::int64_t micro = 0;  // the micro-step of the step
  std::int64_t samples = 0;
  std::int64_t own_first = 0, own = 0;  // of these, the rank's part
  std::vector<float> features;          // samples x features, row-major
  std::vector<std::int32_t> labels;     // samples x labels of a sample
  std::vector<std::int32_t> numbers;    // of the samples, in the data set

  // In the place of the features, bytes that stand for them, and for what (Dataset::byte_values).
  // Null: there are none.
  const ByteValues* byte_values = nullptr;
  std::shared_ptr<std::byte> bytes;
  std::int64_t room = 0;  // for so many
  void make_room(const MakeRoom& of, std::int64_t count) {
    if (count > room) bytes = of(count), room = count;
  }
  std::span<std::uint8_t> as_bytes(std::int64_t count) const {
    return {reinterpret_cast<std::uint8_t*>(bytes.get()), static_cast<std::size_t>(count)};
  }
};

// With the samples that were taken; whose step it is, is the caller's to say. Of a set whose
// features are bytes it has these, in such room, if there is any.
void fill(const Dataset& dataset, const MicroBatch& taken, Batch& batch,
          const MakeRoom& make_room = {});

// Prefetches a rank's batches, `depth` ahead, on a thread of its own. Steps are taken in order,
// from `first_step` to before `end_step`. What a step has beyond `most_samples` of a rank comes in
// further batches, one a micro-step; a step without samples is one empty batch. One consumer, which
// holds one batch at a time: take it, use it, release it. Nothing is allocated once each of the
// `depth` slots has held a full batch.
class InputPipeline {
 public:
  static constexpr std::int64_t kWholeStep = std::numeric_limits<std::int64_t>::max();

  InputPipeline(std::shared_ptr<const Dataset> dataset, Sampler sampler, std::int64_t rank,
                std::int64_t first_step, std::int64_t end_step, int depth = 2,
                std::int64_t most_samples = kWholeStep, Rows rows = Rows::own,
                MakeRoom make_room = {});
  ~InputPipeline();  // at any moment; waits for the batch being filled, no longer
  InputPipeline(const InputPipeline&) = delete;
  InputPipeline& operator=(const InputPipeline&) = delete;

  const Batch*
  try_next();  // the oldest batch not released, if it is ready; else null (always, after the last)
  const Batch&
  wait_next();     // the same, and blocks until it is ready; must not be asked after the last
  void release();  // gives that batch back to be filled again; it must have been taken

 private:
  void fill_batches();
  bool fill_step(std::int64_t step, std::int64_t& batch);
  bool await_slot(std::int64_t batch);
  Batch& slot(std::int64_t batch) { return ring_[static_cast<std::size_t>(batch) % ring_.size()]; }

  std::shared_ptr<const Dataset> dataset_;
  MicroBatches micro_batches_;
  MicroBatch taken_;
  std::int64_t first_step_, end_step_;
  MakeRoom make_room_;
  std::vector<Batch> ring_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t filled_ = 0;            // batches ready or given back, since the start
  std::int64_t released_ = 0;          // batches given back
  bool stop_ = false, ended_ = false;  // told to stop; every batch was filled
  std::thread thread_;                 // last: it uses all of the above
};

}  // namespace trainyard::data
