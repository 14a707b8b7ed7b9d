// SPDX-License-Identifier: GPL-3.0-or-later
// Values of the experiment that a run trained, read from the run's recording.
#pragma once

#include <filesystem>
#include <optional>

#include "core/experiment/servers.h"
#include "core/telemetry/history.h"
#include "ui/model/plan/data_assignment.h"

namespace trainyard::ui {

// Returns the drawing that the run trained. Empty if the recording does not contain it.
topology::Topology recorded_topology(const telemetry::History& history);

// Returns the settings of the run, such as which drawn speeds were imposed. Returns the defaults if
// the recording does not contain them.
experiment::RunSpec recorded_run(const telemetry::History& history);

// Returns the resolved experiment; nothing if the recording does not contain it.
std::optional<experiment::Experiment> recorded_experiment(const telemetry::History& history);

// Returns the data assignment of each rank; empty if the recording does not contain it.
DataAssignment recorded_assignment(const telemetry::History& history);

// Returns the staleness of gradients that theory predicts for the run; nothing for a run without
// servers.
std::optional<experiment::StalenessTheory> recorded_staleness_theory(
    const telemetry::History& history);

// True if `experiment` would train the same as the recorded run. The drawings must be equal except
// for positions, and all resolved values must be equal. Pace, recording, the starting checkpoint
// and descriptive fields are ignored. Data paths of `experiment` start from `directory`.
bool trains_as_recorded(const experiment::Experiment& experiment,
                        const std::filesystem::path& directory, const telemetry::History& history);

}  // namespace trainyard::ui
