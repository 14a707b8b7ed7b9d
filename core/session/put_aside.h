// SPDX-License-Identifier: GPL-3.0-or-later
// How much a plan puts aside (strategy/swap.h), for who asks before it runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/experiment/resolve.h"
#include "core/plan/plan.h"

namespace trainyard::session {

// That go and come back in a step, of the rank and the step with most.
std::int64_t bytes_put_aside(const plan::Plan& plan);

// The same in a line; that it is asked for in vain, where nothing is away long enough. Nothing
// where it is not asked for.
std::optional<std::string> swap_said(const experiment::Resolved& resolved, const plan::Plan& plan);

}  // namespace trainyard::session
