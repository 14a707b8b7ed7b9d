// SPDX-License-Identifier: GPL-3.0-or-later
// Plans of one rank, for tests.
#pragma once

#include "core/strategy/strategy.h"
#include "tests/core/strategy/experiments.h"

namespace trainyard::strategy {

// Returns the plan in which each collective is one op.
inline plan::RankPlan rank_of(const experiment::Experiment& e, std::int32_t rank = 0) {
  return coarse_plan(resolved(e)).value().rank_plan(rank);
}

}  // namespace trainyard::strategy
