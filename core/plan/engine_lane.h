// SPDX-License-Identifier: GPL-3.0-or-later
// Who carries out the collectives of a coarse plan. The lanes of one that an engine takes whole
// bear its name ("gloo.g0" where else stands "comm.g0"), so that text and hash of the plan say so.
#pragma once

#include <string>

#include "core/plan/plan.h"

namespace trainyard::plan {

// Of a coarse plan. Peers read no buffer in place any more.
RankPlan handed_to(RankPlan coarse, const std::string& engine);
Plan handed_to(const Plan& coarse, const std::string& engine);

// The engine that a lane's collectives are handed to; empty: none, they are to be expanded.
std::string engine_of(const Lane& lane);
// Of the first lane that has one.
std::string engine_of(const RankPlan& rank);

}  // namespace trainyard::plan
