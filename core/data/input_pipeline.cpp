// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/input_pipeline.h"

#include <algorithm>
#include <cassert>

namespace trainyard::data {

InputPipeline::InputPipeline(std::shared_ptr<const Dataset> dataset, Sampler sampler,
                             std::int64_t rank, std::int64_t first_step, std::int64_t end_step,
                             int depth, std::int64_t max_samples, Rows rows,
                             AllocateBytes make_room)
    : dataset_(std::move(dataset)),
      micro_batches_(std::move(sampler), rank, max_samples, rows),
      first_step_(first_step),
      end_step_(end_step),
      make_room_(std::move(make_room)),
      ring_(static_cast<std::size_t>(std::max(depth, 1))) {
  const bool comes_as_bytes = make_room_ && dataset_->byte_values() != nullptr;
  if (comes_as_bytes && rows == Rows::own &&
      max_samples != kFullStep)  // allocates the batches' memory before the thread starts
    for (Batch& batch : ring_)
      batch.make_room(make_room_, max_samples * dataset_->summary().features());
  thread_ = std::thread([this] { fill_batches(); });
}

InputPipeline::~InputPipeline() {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

const Batch* InputPipeline::try_next() {
  const std::scoped_lock lock(mutex_);
  return filled_ > released_ ? &slot(released_) : nullptr;
}

const Batch& InputPipeline::wait_next() {
  std::unique_lock lock(mutex_);
  assert(!ended_ || filled_ > released_);
  changed_.wait(lock, [this] { return filled_ > released_; });
  return slot(released_);
}

void InputPipeline::release() {
  {
    const std::scoped_lock lock(mutex_);
    assert(filled_ > released_);
    ++released_;
  }
  changed_.notify_all();
}

void InputPipeline::fill_batches() {
  std::int64_t batch = 0;
  for (std::int64_t step = first_step_; step < end_step_; ++step)
    if (!fill_step(step, batch)) return;
  const std::scoped_lock lock(mutex_);
  ended_ = true;
}

// Fills the batches of one step; returns false if stop was requested. Only this thread uses the
// slot of a batch that is neither ready nor taken, so it fills the slot without the lock.
bool InputPipeline::fill_step(std::int64_t step, std::int64_t& batch) {
  std::int64_t micro = 0;
  do {
    if (!await_slot(batch)) return false;
    micro_batches_.take(step, micro, taken_);
    slot(batch).step = step;
    slot(batch).micro = micro++;
    fill(*dataset_, taken_, slot(batch), make_room_);
    {
      const std::scoped_lock lock(mutex_);
      filled_ = ++batch;
    }
    changed_.notify_all();
  } while (!taken_.last);
  return true;
}

bool InputPipeline::await_slot(std::int64_t batch) {
  std::unique_lock lock(mutex_);
  changed_.wait(
      lock, [&] { return stop_ || batch - released_ < static_cast<std::int64_t>(ring_.size()); });
  return !stop_;
}

void fill(const Dataset& dataset, const MicroBatch& taken, Batch& batch,
          const AllocateBytes& make_room) {
  batch.samples = std::ssize(taken.indices);
  batch.own_first = taken.own_first;
  batch.own = taken.own;
  batch.labels.resize(taken.indices.size() *
                      static_cast<std::size_t>(dataset.summary().labels_of_sample));
  batch.numbers.assign(taken.indices.begin(), taken.indices.end());
  const std::int64_t features = batch.samples * dataset.summary().features();
  batch.byte_values = make_room ? dataset.byte_values() : nullptr;
  if (batch.byte_values != nullptr) {
    batch.make_room(make_room, features);
    return dataset.fill_bytes(Split::train, taken.indices, batch.as_bytes(features), batch.labels);
  }
  batch.features.resize(static_cast<std::size_t>(features));
  dataset.fill(Split::train, taken.indices, batch.features, batch.labels);
}

}  // namespace trainyard::data
