// SPDX-License-Identifier: GPL-3.0-or-later
// The experiment that a run trained, as its recording holds it.
#pragma once

#include <filesystem>
#include <optional>

#include "core/experiment/servers.h"
#include "core/telemetry/history.h"
#include "ui/model/dealt.h"

namespace trainyard::ui {

// The drawing that the run was started on; empty when that is not known (yet).
topology::Topology recorded_topology(const telemetry::History& history);

// How it was carried out: what of the drawn speeds was imposed; defaults where that is not known.
experiment::RunSpec recorded_run(const telemetry::History& history);

// The experiment as it was resolved and run; nothing when the recording does not hold it.
std::optional<experiment::Experiment> recorded_experiment(const telemetry::History& history);

// What each of its ranks had of the data; empty when the recording does not hold it.
Dealt recorded_dealt(const telemetry::History& history);

// What is known before a run of how stale its gradients are; nothing of a run without servers.
std::optional<experiment::StalenessTheory> recorded_staleness_theory(
    const telemetry::History& history);

// Whether `experiment`, with data paths that start at `directory`, would train what the run
// trained: on the same drawing, wherever its parts stand, and by the same values, given or
// resolved. Pace, recording, from which checkpoint it goes on and what only people read are not
// looked at.
bool trains_as_recorded(const experiment::Experiment& experiment,
                        const std::filesystem::path& directory, const telemetry::History& history);

}  // namespace trainyard::ui
