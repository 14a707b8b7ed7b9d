// SPDX-License-Identifier: GPL-3.0-or-later
// Collective calls in Gloo's API.
#pragma once

#include "backends/gloo/group.h"
#include "core/comm/collectives.h"

namespace trainyard::gloo {

// Executes a supported call, and blocks until it is complete. Throws the exceptions of Gloo.
void carry_out(Group& group, const comm::CollectiveCall& call);

}  // namespace trainyard::gloo
