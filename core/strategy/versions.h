// SPDX-License-Identifier: GPL-3.0-or-later
// Weight stashing (Harlap et al. 2018, Narayanan et al. 2019: PipeDream): the backward pass of a
// micro-batch uses the parameters of its forward pass, regardless of updates in between.
#pragma once

#include "core/plan/plan.h"

namespace trainyard::strategy {

// Adds stashing to a rank whose programs update after every micro-batch (UPD.s2.m0), in the order
// of its compute lane. Stashing is needed for parameters that a backward pass or a recomputation
// reads after an update would have overwritten them. An op STASH, with the number of the update,
// saves these parameters before the update, and the later op reads the saved copy. Adds a buffer
// "stash" with room for the older versions of each segment that are needed at the same time. If n
// other micro-batches are processed between the forward and the backward pass of a micro-batch,
// these are n versions. A segment whose backward pass does not read parameters needs none. Does
// nothing for ranks that update once per step.
void keep_versions(plan::RankPlan& rank);

}  // namespace trainyard::strategy
