// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>

namespace trainyard::telemetry {

// Value over all ranks at one step, once every rank involved in the step has reported it.
struct StepValue {
  std::int32_t step = 0;
  // Time of the last report; if ranks make steps separately, the latest of this step and earlier
  // ones.
  double seconds = 0;
  double value = 0;
};

}  // namespace trainyard::telemetry
