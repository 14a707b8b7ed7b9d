// SPDX-License-Identifier: GPL-3.0-or-later
// The experiment that a run trained, from its recording.
#pragma once

#include <filesystem>
#include <optional>

#include "core/experiment/servers.h"
#include "core/telemetry/history.h"
#include "ui/model/plan/data_assignment.h"

namespace trainyard::ui {

// Returns the drawing on which the run was started; empty while unknown.
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

// True if `experiment`, with data paths relative to `directory`, would train what the run trained:
// the same drawing (positions are ignored) and the same values, given or resolved. Ignores pace,
// recording, the starting checkpoint, and descriptive fields.
bool trains_as_recorded(const experiment::Experiment& experiment,
                        const std::filesystem::path& directory, const telemetry::History& history);

}  // namespace trainyard::ui
