// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>

namespace trainyard::telemetry {

// Value over all ranks at one step, known once every rank involved has reported the step.
struct StepValue {
  std::int32_t step = 0;
  // Time of the last report. If ranks execute steps separately, the latest time of this step and
  // all earlier ones.
  double seconds = 0;
  double value = 0;
};

}  // namespace trainyard::telemetry
