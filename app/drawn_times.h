// SPDX-License-Identifier: GPL-3.0-or-later
// Durations of a rank's ops on the drawn device, according to the cost model of the simulator.
#pragma once

#include "core/base/result.h"
#include "core/plan/plan.h"
#include "core/run/control/slowness.h"
#include "core/topology/topology.h"

namespace trainyard::app {

// Returns the simulated durations of a rank's ops on a device of `host`, without the slowdown that
// the drawing sets for the device.
base::Result<run::OpTimes> drawn_op_times(const plan::RankPlan& rank, const plan::Plan& plan,
                                          const topology::Device& device,
                                          const topology::Host& host);

}  // namespace trainyard::app
