// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "core/compute/compute.h"
#include "core/data/dataset.h"
#include "core/run/bind/bound_plan.h"

namespace trainyard::run {

// Loads the held-out samples that a rank evaluates, one batch per call. If the rank holds only some
// feature columns, a batch contains the samples of all ranks, in order of ranks.
class HeldOut {
 public:
  // First sample and number of samples, for each rank whose samples are loaded. `own`: index of
  // this rank's share.
  using Share = std::pair<std::int64_t, std::int64_t>;
  HeldOut(std::shared_ptr<const data::Dataset> dataset, std::vector<Share> shares, std::size_t own);

  void rewind() { done_.assign(shares_.size(), 0); }
  void load(compute::Compute& compute, const BoundLoad& into);  // loads the next batch
  // number of samples in this rank's share
  std::int64_t count() const { return shares_[own_].second; }

 private:
  std::shared_ptr<const data::Dataset> dataset_;
  std::vector<Share> shares_;
  std::size_t own_;
  std::vector<std::int64_t> done_;  // number of samples loaded so far, by share
  std::vector<std::int64_t> indices_;
  std::vector<float> features_;
  std::vector<std::int32_t> labels_;
};

}  // namespace trainyard::run
