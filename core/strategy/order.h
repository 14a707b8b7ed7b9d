// SPDX-License-Identifier: GPL-3.0-or-later
// Dependencies that follow from the data: how a strategy whose ops say what they touch need not say
// what they wait for.
#pragma once

#include "core/plan/plan.h"

namespace trainyard::strategy {

// Lets every op of a coarse plan wait for the ops of other lanes that touch what it touches, before
// it in its program or in the instance before, whatever program that runs, unless both only read.
// Of a lane that an op, or one before it on its own lane, waits for already, nothing is said twice.
void order_by_data(plan::RankPlan& rank);

}  // namespace trainyard::strategy
