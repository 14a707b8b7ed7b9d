// SPDX-License-Identifier: GPL-3.0-or-later
// What must be said beside every figure of a run: emulated devices, drawn speeds that were not imposed, shared cores, what
// was dropped, what is damaged. Pure.
#pragma once

#include <QStringList>
#include <optional>

#include "core/experiment/document.h"
#include "core/telemetry/history.h"

namespace trainyard::ui {

// The drawing that the run was started on, as its recording holds it; empty when that is not known (yet).
topology::Topology recorded_topology(const telemetry::History& history);

// The experiment as it was resolved and run; nothing when the recording does not hold it.
std::optional<experiment::Experiment> recorded_experiment(const telemetry::History& history);

QStringList truths_of(const telemetry::History& history);

// What went wrong, as the result or the last state of the run says; nothing when nothing did.
std::optional<base::Problem> problem_of(const telemetry::History& history);

}  // namespace trainyard::ui
