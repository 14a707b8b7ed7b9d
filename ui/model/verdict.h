// SPDX-License-Identifier: GPL-3.0-or-later
// One line on whether to distribute at all: the drawing is simulated against one of its devices with the same global batch.
#pragma once

#include <QString>

#include "core/experiment/resolve.h"
#include "core/plan/plan.h"

namespace trainyard::ui {

// "As drawn: one device would be 1.8x faster here, because ..." `expanded` is the experiment's plan. May take a while: not for the GUI thread.
base::Result<QString> verdict_of(const experiment::Resolved& experiment, const plan::Plan& expanded);

}  // namespace trainyard::ui
