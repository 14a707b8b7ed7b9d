// SPDX-License-Identifier: GPL-3.0-or-later
// One line on whether to distribute at all: the drawing is simulated against one of its devices with the same global batch.
#pragma once

#include <QString>
#include <stop_token>

#include "core/experiment/resolve.h"
#include "core/plan/plan.h"

namespace trainyard::ui {

// "As drawn: one device would be 1.8x faster here, because ..." Simulated ranks never share cores: where real ones would, that is said
// of the real run. `expanded` is the experiment's plan. May take long: not for the GUI thread, and cancelled soon once `stop` asks for it.
base::Result<QString> verdict_of(const experiment::Resolved& experiment, const plan::Plan& expanded, std::stop_token stop = {});

}  // namespace trainyard::ui
