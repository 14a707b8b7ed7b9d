// SPDX-License-Identifier: GPL-3.0-or-later
// What went wrong in a run, and with whom. Pure.
#pragma once

#include <optional>
#include <set>

#include "core/base/result.h"
#include "core/telemetry/history.h"

namespace trainyard::ui {

// As the result or the last state of the run says; nothing when nothing did.
std::optional<base::Problem> problem_of(const telemetry::History& history);

std::set<int> ranks_of(
    const base::Problem& problem);  // that its place names: 2 of "rank 2 (cpu2 on host0)"

}  // namespace trainyard::ui
