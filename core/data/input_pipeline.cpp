// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/input_pipeline.h"

#include <algorithm>
#include <cassert>

namespace trainyard::data {

InputPipeline::InputPipeline(std::shared_ptr<const Dataset> dataset, Sampler sampler, std::int64_t rank, std::int64_t first_step, std::int64_t end_step,
                             int depth)
    : dataset_(std::move(dataset)),
      sampler_(std::move(sampler)),
      rank_(rank),
      first_step_(first_step),
      batches_(std::max<std::int64_t>(end_step - first_step, 0)),
      ring_(static_cast<std::size_t>(std::max(depth, 1))),
      thread_([this] { fill_batches(); }) {}

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
  assert(released_ < batches_);
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

// Only this thread touches a slot that is neither ready nor taken, so it is filled without the lock.
void InputPipeline::fill_batches() {
  for (std::int64_t batch = 0; batch < batches_; ++batch) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stop_ || batch - released_ < static_cast<std::int64_t>(ring_.size()); });
      if (stop_) return;
    }
    fill(first_step_ + batch, slot(batch));
    {
      const std::scoped_lock lock(mutex_);
      filled_ = batch + 1;
    }
    changed_.notify_all();
  }
}

void InputPipeline::fill(std::int64_t step, Batch& batch) {
  const auto indices = sampler_.indices(step, rank_);
  batch.step = step;
  batch.samples = static_cast<std::int64_t>(indices.size());
  batch.features.resize(indices.size() * static_cast<std::size_t>(dataset_->summary().features()));
  batch.labels.resize(indices.size());
  batch.numbers.assign(indices.begin(), indices.end());
  dataset_->fill(Split::train, indices, batch.features, batch.labels);
}

}  // namespace trainyard::data
