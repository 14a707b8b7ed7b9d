// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/telemetry/step_value.h"

#include <algorithm>

#include "core/telemetry/thinned_indices.h"

namespace trainyard::telemetry {

void StepValues::push_back(const StepValue& value) {
  values_.push_back(value);
  numbers_.push_back(added_++);
  if (limit_ == 0 || values_.size() < limit_) return;
  const std::size_t half = values_.size() / 2;
  const auto kept = thinned_indices(
      half, [&](std::size_t i) { return static_cast<double>(values_[i].step); },
      [&](std::size_t i) { return values_[i].value; });
  thinned_until_ = std::max(thinned_until_, values_[half - 1].step);
  keep_indices(values_, kept, half);
  keep_indices(numbers_, kept, half);
}

}  // namespace trainyard::telemetry
