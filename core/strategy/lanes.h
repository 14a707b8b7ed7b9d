// SPDX-License-Identifier: GPL-3.0-or-later
// The first two lanes of every rank that runs layers, in this order.
#pragma once

#include "core/plan/plan.h"

namespace trainyard::strategy {

inline const plan::LaneId kInput{0}, kCompute{1};

}  // namespace trainyard::strategy
