// SPDX-License-Identifier: GPL-3.0-or-later
// Whether the drawn devices have room for what the plan puts on them.
#pragma once

#include "core/session/ways_to_fit.h"

namespace trainyard::session {

// By rank, how many bytes what its buffers take is more than the memory of its device; 0 where it
// fits.
std::vector<std::int64_t> lacking_bytes(const experiment::Resolved& experiment,
                                        const std::vector<run::MemoryUse>& memory);

// Ranks whose buffers - parameters, gradients, moments, activations, and versions of a server - are
// more than the memory of their device, and by how much; samples and the program itself are not
// counted. One a device, by rank; none where all fit. The advice names other ways to train the same
// that would fit, and what each costs: besides what can be said of any, by `cost` the seconds and
// bytes of a step.
base::Problems room_problems(const experiment::Resolved& experiment,
                             const std::vector<run::MemoryUse>& memory,
                             const CostOfStep& cost = {});
base::Problems room_problems(const experiment::Resolved& experiment, const plan::Plan& plan,
                             const CostOfStep& cost = {});

}  // namespace trainyard::session
