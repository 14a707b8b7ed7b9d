// SPDX-License-Identifier: GPL-3.0-or-later
// The experiment that a run trained, from its recording.
#pragma once

#include <filesystem>
#include <optional>

#include "core/experiment/servers.h"
#include "core/telemetry/history.h"
#include "ui/model/plan/data_assignment.h"

namespace trainyard::ui {

// Returns the drawing on which the run was started; empty if unknown.
topology::Topology recorded_topology(const telemetry::History& history);

// Returns the run settings, such as which drawn speeds were imposed; defaults if unknown.
experiment::RunSpec recorded_run(const telemetry::History& history);

// Returns the resolved experiment; nothing if the recording does not contain it.
std::optional<experiment::Experiment> recorded_experiment(const telemetry::History& history);

// Returns the data assignment of each rank; empty if the recording does not contain it.
DataAssignment recorded_assignment(const telemetry::History& history);

// Returns the predicted staleness of gradients; nothing for a run without servers.
std::optional<experiment::StalenessTheory> recorded_staleness_theory(
    const telemetry::History& history);

// True if `experiment` would train the same as the run. Data paths are relative to `directory`. The
// drawings must be the same except for positions, and all resolved values must be equal. Pace,
// recording, the starting checkpoint and descriptive fields are ignored.
bool trains_as_recorded(const experiment::Experiment& experiment,
                        const std::filesystem::path& directory, const telemetry::History& history);

}  // namespace trainyard::ui
