// SPDX-License-Identifier: GPL-3.0-or-later
// What the run of a variant left, as figures of a sweep.
#pragma once

#include <filesystem>

#include "core/session/sweep.h"
#include "core/telemetry/history.h"

namespace trainyard::session {

// The times of steps from `from_step` on that took as many samples as any and that every rank has
// reported, of the slowest rank; and how many samples those were. The short steps that end an epoch
// are left out, and with them what a lost event belongs to.
struct FullSteps {
  std::vector<double> seconds;
  std::int64_t samples = 0;
};
FullSteps full_steps(const telemetry::History& history, std::int64_t from_step);

// Fills in what was measured from the run directory. A Problem: why the variant is not done.
base::Result<void> measure(SweepVariant& variant, const Sweep& sweep,
                           const std::filesystem::path& run_directory);

// Why a run that ended in `how` ("exit status 3") has no result, by what it printed.
std::string why_failed(const std::filesystem::path& run_directory, const std::string& how);

}  // namespace trainyard::session
