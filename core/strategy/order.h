// SPDX-License-Identifier: GPL-3.0-or-later
// Derives dependencies from data accesses, so that strategies need not state them.
#pragma once

#include "core/plan/plan.h"

namespace trainyard::strategy {

// Adds to every op of a coarse plan dependencies on the ops of other lanes that access the same
// elements, earlier in its program or in the previous instance of any program, unless both only
// read. Dependencies that the op's lane already implies are omitted.
void order_by_data(plan::RankPlan& rank);

}  // namespace trainyard::strategy
