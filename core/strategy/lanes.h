// SPDX-License-Identifier: GPL-3.0-or-later
// Lanes (queues of ops) that every rank with layers has as its first two, in this order: one loads
// samples, the other computes.
#pragma once

#include "core/plan/plan.h"

namespace trainyard::strategy {

inline const plan::LaneId kInput{0}, kCompute{1};

}  // namespace trainyard::strategy
