// SPDX-License-Identifier: GPL-3.0-or-later
// Canonical form of an experiment: only the values that affect a run.
#pragma once

#include "core/experiment/experiment.h"

namespace trainyard::ui {

// Removes what has no effect (name, notes, canvas positions) and resets values that the chosen kind
// does not use to defaults.
experiment::Experiment canonical_form(experiment::Experiment experiment);

}  // namespace trainyard::ui
