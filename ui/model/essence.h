// SPDX-License-Identifier: GPL-3.0-or-later
// What of an experiment decides what a run of it does.
#pragma once

#include "core/experiment/experiment.h"

namespace trainyard::ui {

// Without what only people read (name, notes, places on the canvas), and with defaults where the
// chosen kind does not use a value.
experiment::Experiment essence(experiment::Experiment experiment);

}  // namespace trainyard::ui
