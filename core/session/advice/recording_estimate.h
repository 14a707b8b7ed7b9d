// SPDX-License-Identifier: GPL-3.0-or-later
// Estimate of the size of a run's recording (telemetry/bounded_recording.h), for display before the
// run.
#pragma once

#include <cstdint>
#include <string>

#include "core/experiment/resolve.h"
#include "core/plan/plan.h"

namespace trainyard::session {

struct RecordingEstimate {
  double complete_bytes = 0;  // Size if every event is recorded.
  double bytes = 0;           // Size with the limit of the experiment.
  // First step that is not recorded completely; -1: the whole run is.
  std::int64_t thinned_from_step = -1;
};

RecordingEstimate estimate_recording(const experiment::Resolved& resolved, const plan::Plan& plan);

// Returns a line that describes the estimate, for the user.
std::string recording_line(const RecordingEstimate& estimate);

}  // namespace trainyard::session
