// SPDX-License-Identifier: GPL-3.0-or-later
// Canonical form of an experiment: only the values that affect a run.
#pragma once

#include "core/experiment/experiment.h"

namespace trainyard::ui {

// Resets to defaults what has no effect: name, notes, canvas positions, and values that the chosen
// kinds do not use.
experiment::Experiment canonical_form(experiment::Experiment experiment);

}  // namespace trainyard::ui
