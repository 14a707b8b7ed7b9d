// SPDX-License-Identifier: GPL-3.0-or-later
// Checks that the buffers of a plan fit into the memory of the drawn devices.
#pragma once

#include "core/session/advice/memory_advice.h"

namespace trainyard::session {

// Returns, for each rank, by how many bytes its buffers exceed the memory of its device; 0 if the
// buffers fit.
std::vector<std::int64_t> excess_bytes(const experiment::Resolved& experiment,
                                       const std::vector<run::MemoryUse>& memory);

// Returns a Problem for each device whose memory is exceeded by its rank's buffers (parameters,
// gradients, moments, activations, versions of a server), ordered by rank. Samples and program code
// are not counted. The advice lists other settings for the same training that would fit, and what
// each costs. If `cost` is set, the advice includes the seconds and bytes of a step.
base::Problems find_memory_problems(const experiment::Resolved& experiment,
                                    const std::vector<run::MemoryUse>& memory,
                                    const CostOfStep& cost = {});
base::Problems find_memory_problems(const experiment::Resolved& experiment, const plan::Plan& plan,
                                    const CostOfStep& cost = {});

}  // namespace trainyard::session
