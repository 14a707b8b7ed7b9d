// SPDX-License-Identifier: GPL-3.0-or-later
// Extracts the figures of a sweep from the run directory of a variant.
#pragma once

#include <filesystem>

#include "core/session/sweep/sweep.h"
#include "core/telemetry/history.h"

namespace trainyard::session {

// Measured steps that have the largest number of samples. Short steps at the end of an epoch, and
// steps that some rank did not report, are left out.
struct FullSteps {
  std::vector<double> seconds;  // per step: the duration on the slowest rank
  std::int64_t samples = 0;     // of one step, over all ranks
};
// Returns the full steps from `from_step` on.
FullSteps full_steps(const telemetry::History& history, std::int64_t from_step);

// Fills in the measured values from the run directory. Returns a Problem if the variant did not
// finish.
base::Result<void> measure(SweepVariant& variant, const Sweep& sweep,
                           const std::filesystem::path& run_directory);

// Returns why a run that ended with `how` ("exit status 3") has no result, from its output.
std::string failure_reason(const std::filesystem::path& run_directory, const std::string& how);

}  // namespace trainyard::session
