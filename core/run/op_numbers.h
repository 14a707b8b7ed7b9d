// SPDX-License-Identifier: GPL-3.0-or-later
// An event names an op by its number in its program: a program may have no more ops than there are
// numbers.
#pragma once

#include <cstddef>
#include <limits>

#include "core/base/result.h"
#include "core/plan/plan.h"
#include "core/telemetry/event.h"

namespace trainyard::run {

inline constexpr std::size_t kMostOps =
    std::size_t{std::numeric_limits<decltype(telemetry::Event::subject)>::max()} + 1;

// Refuses a rank with a longer program.
base::Result<void> check_op_numbers(const plan::RankPlan& rank);

}  // namespace trainyard::run
