// SPDX-License-Identifier: GPL-3.0-or-later
// Failure of a run, and the rank that caused the failure. Pure.
#pragma once

#include <optional>
#include <set>

#include "core/base/result.h"
#include "core/telemetry/history.h"

namespace trainyard::ui {

// Returns the problem that ended the run, from its result or its last state; nothing if there is
// none.
std::optional<base::Problem> failure_of_run(const telemetry::History& history);

// Returns the rank that the location of a problem names: 2 for "rank 2 (host0/cpu2)".
std::set<int> ranks_in_problem(const base::Problem& problem);

}  // namespace trainyard::ui
