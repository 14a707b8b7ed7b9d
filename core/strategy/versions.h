// SPDX-License-Identifier: GPL-3.0-or-later
// Weight stashing (Harlap et al. 2018, Narayanan et al. 2019: PipeDream): a micro-batch goes back
// by the parameters that it went forward by, whatever updates came between.
#pragma once

#include "core/plan/plan.h"

namespace trainyard::strategy {

// Of a rank whose programs update after every micro-batch (UPD.s2.m0), in the order of its compute
// lane: what an update would overwrite although the backward pass of a micro-batch, or the outputs
// made again for it, asks for it later, is put aside before (STASH, of the number of that update),
// and read from there. Adds a buffer "stash", with room for as many versions of each segment as are
// needed at once besides the newest: where a micro-batch comes back after n others, n; of a segment
// that goes back without its parameters, none. Does nothing to ranks that update once a step.
void keep_versions(plan::RankPlan& rank);

}  // namespace trainyard::strategy
