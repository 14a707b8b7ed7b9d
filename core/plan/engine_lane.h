// SPDX-License-Identifier: GPL-3.0-or-later
// Engine that runs the collectives of a plan, each as a single op. The names of its lanes contain
// the name of the engine ("gloo.g0" instead of "comm.g0"), so that the plan's text and hash depend
// on the choice of the engine.
#pragma once

#include <string>

#include "core/plan/plan.h"

namespace trainyard::plan {

// Assigns the collectives of a plan to an engine. The collectives must not have been expanded to
// sends and receives yet. In the result no buffer is shared with peers.
RankPlan assign_to_engine(RankPlan coarse, const std::string& engine);
Plan assign_to_engine(const Plan& coarse, const std::string& engine);

// Returns the engine that runs a lane's collectives; empty if they are to be expanded to sends and
// receives.
std::string engine_of(const Lane& lane);
// Returns the engine of the first lane that has one; empty if none has.
std::string engine_of(const RankPlan& rank);

}  // namespace trainyard::plan
