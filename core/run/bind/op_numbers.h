// SPDX-License-Identifier: GPL-3.0-or-later
// Limit of the number of ops in a program: an event identifies an op by its number in the program.
#pragma once

#include <cstddef>
#include <limits>

#include "core/base/result.h"
#include "core/plan/plan.h"
#include "core/telemetry/event.h"

namespace trainyard::run {

inline constexpr std::size_t kMaxOps =
    std::size_t{std::numeric_limits<decltype(telemetry::Event::subject)>::max()} + 1;

// Returns a Problem if a program of the rank has more ops than the limit.
base::Result<void> check_op_numbers(const plan::RankPlan& rank);

}  // namespace trainyard::run
