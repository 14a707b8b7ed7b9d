// SPDX-License-Identifier: GPL-3.0-or-later
// Whether the drawn devices have room for what the plan puts on them.
#pragma once

#include "core/experiment/resolve.h"
#include "core/plan/plan.h"

namespace trainyard::session {

// Ranks whose buffers - parameters, gradients, moments, activations, and versions of a server - are more than the memory of their device, and by how much;
// samples and the program itself are not counted. One a device, by rank; none where all fit. The advice names other ways to train the same that would fit, and
// what each costs: smaller micro-steps, outputs that are computed again, outputs or moments that are put aside, a share of the model (fsdp), some layers each
// (pipeline); each was laid out.
base::Problems room_problems(const experiment::Resolved& experiment, const plan::Plan& plan);

}  // namespace trainyard::session
