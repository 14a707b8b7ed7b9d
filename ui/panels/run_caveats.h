// SPDX-License-Identifier: GPL-3.0-or-later
// Caveats that apply to all measurements of a run: emulated devices, imposed drawn speeds, slowed
// ranks, shared cores, differences from training on one device, a pace that prevents staleness,
// non-finite gradients, dropped data, damaged data. Pure.
#pragma once

#include <QStringList>

#include "core/telemetry/history.h"
#include "core/topology/topology.h"

namespace trainyard::ui {

// `topology`: the drawing on which the run was started.
QStringList run_caveats(const telemetry::History& history, const topology::Topology& topology);

}  // namespace trainyard::ui
