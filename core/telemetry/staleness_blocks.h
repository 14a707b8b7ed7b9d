// SPDX-License-Identifier: GPL-3.0-or-later
// Staleness over time: mean, 95th percentile and maximum of every block of kGradients gradients of
// any workers, in the order in which one server applied them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/telemetry/step_value.h"

namespace trainyard::telemetry {

class StalenessBlocks {
 public:
  static constexpr std::size_t kGradients = 50;  // Gradients per block.

  // Sets the limit of each list, as StepValues::set_limit does.
  void set_limit(std::size_t values) {
    for (StepValues* list : {&mean_, &p95_, &most_}) list->set_limit(values);
  }
  void take(std::int32_t step, double seconds, double staleness);

  // Values of each block, at the step and time of its last gradient.
  const StepValues& mean() const { return mean_; }
  const StepValues& p95() const { return p95_; }
  const StepValues& most() const { return most_; }

 private:
  std::vector<double> open_;  // Staleness of the gradients in the block that is not full yet.
  StepValues mean_, p95_, most_;
};

}  // namespace trainyard::telemetry
