// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "core/compute/compute.h"
#include "core/data/dataset.h"
#include "core/run/bound_plan.h"

namespace trainyard::run {

// Feeds evaluation: the rank's share of the held-out samples, batch by batch, filled when asked for.
class HeldOut {
 public:
  HeldOut(std::shared_ptr<const data::Dataset> dataset, std::pair<std::int64_t, std::int64_t> share);  // first and count

  void rewind() { next_ = first_; }
  void load(compute::Compute& compute, const BoundLoad& into);  // the next batch
  std::int64_t count() const { return count_; }                 // samples of the share

 private:
  std::shared_ptr<const data::Dataset> dataset_;
  std::int64_t first_ = 0, count_ = 0, next_ = 0;
  std::vector<std::int64_t> indices_;
  std::vector<float> features_;
  std::vector<std::int32_t> labels_;
};

}  // namespace trainyard::run
