// SPDX-License-Identifier: GPL-3.0-or-later
// What must be said beside every figure of a run: emulated devices, what of the drawn speeds was
// imposed, ranks that are slowed down, shared cores, why it is not the training of one device, a
// pace that leaves nothing stale, gradients that are not finite, what was dropped, what is damaged.
// Pure.
#pragma once

#include <QStringList>

#include "core/telemetry/history.h"
#include "core/topology/topology.h"

namespace trainyard::ui {

// `topology`: the drawing that the run was started on.
QStringList truths_of(const telemetry::History& history, const topology::Topology& topology);

}  // namespace trainyard::ui
