// SPDX-License-Identifier: GPL-3.0-or-later
// Reads the measured values of a variant from its run directory.
#pragma once

#include <filesystem>

#include "core/session/sweep/sweep.h"
#include "core/telemetry/history.h"

namespace trainyard::session {

// Measured steps with the largest number of samples. Shorter steps at the end of an epoch are left
// out, and so are steps that some rank did not report.
struct FullSteps {
  std::vector<double> seconds;  // duration of each step on the slowest rank
  std::int64_t samples = 0;     // samples of one step, over all ranks
};
// Returns the full steps from `from_step` on.
FullSteps full_steps(const telemetry::History& history, std::int64_t from_step);

// Fills in the measured values from the run directory. Returns a Problem if the variant did not
// finish.
base::Result<void> measure(SweepVariant& variant, const Sweep& sweep,
                           const std::filesystem::path& run_directory);

// Returns why a run has no result, from its output. `how` describes how its process ended ("exit
// status 3").
std::string failure_reason(const std::filesystem::path& run_directory, const std::string& how);

}  // namespace trainyard::session
