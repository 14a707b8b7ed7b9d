// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/input/held_out.h"

#include "core/collective/algorithm.h"

namespace trainyard::run {

HeldOut::HeldOut(std::shared_ptr<const data::Dataset> dataset, std::vector<Share> shares,
                 std::size_t own)
    : dataset_(std::move(dataset)), shares_(std::move(shares)), own_(own) {
  rewind();
}

void HeldOut::load(compute::Compute& compute, const BoundLoad& into) {
  const auto samples = into.input.empty() ? into.samples : into.input.shape[0];
  std::int64_t own_first = 0;
  indices_.clear();
  for (std::size_t s = 0; s < shares_.size(); ++s) {
    if (s == own_) own_first = std::ssize(indices_);
    const std::int64_t first = shares_[s].first + done_[s],
                       count = collective::part(samples, static_cast<int>(shares_.size()),
                                                static_cast<int>(s))
                                   .second;
    for (std::int64_t i = 0; i < count; ++i) indices_.push_back(first + i);
    done_[s] += count;
  }
  features_.resize(indices_.size() * static_cast<std::size_t>(dataset_->summary().features()));
  const std::int64_t labels = dataset_->summary().labels_of_sample;
  labels_.resize(indices_.size() * static_cast<std::size_t>(labels));
  dataset_->fill(data::Split::held_out, indices_, features_, labels_);
  if (!into.input.empty()) compute.load(into.input, features_);
  if (!into.labels.empty())
    compute.copy(into.labels.data,
                 reinterpret_cast<const std::byte*>(labels_.data() + own_first * labels),
                 into.labels.bytes());
}

}  // namespace trainyard::run
