// SPDX-License-Identifier: GPL-3.0-or-later
// Whether the drawn devices have room for what the plan puts on them.
#pragma once

#include "core/experiment/resolve.h"
#include "core/plan/plan.h"

namespace trainyard::session {

// Ranks whose buffers - parameters, gradients, moments, activations, and versions of a server - are more than the memory of their device; samples and the
// program itself are not counted. One a device, by rank; none where all fit.
base::Problems room_problems(const experiment::Resolved& experiment, const plan::Plan& plan);

}  // namespace trainyard::session
