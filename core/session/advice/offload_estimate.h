// SPDX-License-Identifier: GPL-3.0-or-later
// Computes how many bytes a plan offloads (strategy/swap.h), for display before a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/experiment/resolve.h"
#include "core/plan/plan.h"

namespace trainyard::session {

// Returns the bytes that are offloaded and fetched in a step: the largest value of any rank and
// program.
std::int64_t offloaded_bytes(const plan::Plan& plan);

// Returns a line that describes the offload, or says that no value is idle long enough to be
// offloaded. Returns nothing if offload is not requested.
std::optional<std::string> offload_line(const experiment::Resolved& resolved,
                                        const plan::Plan& plan);

}  // namespace trainyard::session
