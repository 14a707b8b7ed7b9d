// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>

namespace trainyard::telemetry {

// A number over all ranks at one step, once every rank that does the step has reported it.
struct StepValue {
  std::int32_t step = 0;
  double seconds =
      0;  // of the last report; of steps that ranks do apart, of this one or one before it
  double value = 0;
};

}  // namespace trainyard::telemetry
