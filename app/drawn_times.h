// SPDX-License-Identifier: GPL-3.0-or-later
// How long each op of a rank would take on the device that is drawn, by the simulator's model of
// costs.
#pragma once

#include "core/base/result.h"
#include "core/plan/plan.h"
#include "core/run/slowness.h"
#include "core/topology/topology.h"

namespace trainyard::app {

// Of the device as it would be without being slowed down, on this host.
base::Result<run::OpTimes> drawn_op_times(const plan::RankPlan& rank, const plan::Plan& plan,
                                          const topology::Device& device,
                                          const topology::Host& host);

}  // namespace trainyard::app
