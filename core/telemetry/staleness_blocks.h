// SPDX-License-Identifier: GPL-3.0-or-later
// How staleness goes over time: mean, 95th percentile and greatest of every so many gradients,
// whosever they are, in the order in which one server took them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/telemetry/step_value.h"

namespace trainyard::telemetry {

class StalenessBlocks {
 public:
  static constexpr std::size_t kGradients = 50;  // of a block

  void take(std::int32_t step, double seconds, double staleness);

  // At the step and the time of the last gradient of each block. They grow at the end only.
  const std::vector<StepValue>& mean() const { return mean_; }
  const std::vector<StepValue>& p95() const { return p95_; }
  const std::vector<StepValue>& most() const { return most_; }

 private:
  std::vector<double> open_;  // of the block that is not full yet
  std::vector<StepValue> mean_, p95_, most_;
};

}  // namespace trainyard::telemetry
