// SPDX-License-Identifier: GPL-3.0-or-later
// A call in Gloo's words.
#pragma once

#include "backends/gloo/group.h"
#include "core/comm/collectives.h"

namespace trainyard::gloo {

// Carries out a call that is supported, to its end. Throws what Gloo throws.
void carry_out(Group& group, const comm::CollectiveCall& call);

}  // namespace trainyard::gloo
