// SPDX-License-Identifier: GPL-3.0-or-later
// Derives dependencies from data accesses, so that strategies do not have to add them.
#pragma once

#include "core/plan/plan.h"

namespace trainyard::strategy {

// Adds dependencies to every op of a plan before collectives are expanded. An op then waits for ops
// of other lanes that access the same elements, unless both only read. It waits for earlier ops of
// its program, and for ops of the previous step, which may have run any program. Dependencies that
// the op's lane already implies are omitted.
void order_by_data(plan::RankPlan& rank);

}  // namespace trainyard::strategy
