// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/held_out.h"

#include <numeric>

namespace trainyard::run {

HeldOut::HeldOut(std::shared_ptr<const data::Dataset> dataset, std::pair<std::int64_t, std::int64_t> share)
    : dataset_(std::move(dataset)), first_(share.first), count_(share.second) {}

void HeldOut::load(compute::Compute& compute, const BoundLoad& into) {
  const auto samples = static_cast<std::size_t>(into.samples);
  indices_.resize(samples);
  features_.resize(samples * static_cast<std::size_t>(dataset_->summary().features()));
  labels_.resize(samples);
  std::iota(indices_.begin(), indices_.end(), next_);
  dataset_->fill(data::Split::held_out, indices_, features_, labels_);
  compute.load(into.input, features_);
  compute.copy(into.labels.data, reinterpret_cast<const std::byte*>(labels_.data()), into.samples * 4);
  next_ += into.samples;
}

}  // namespace trainyard::run
