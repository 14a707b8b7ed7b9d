// SPDX-License-Identifier: GPL-3.0-or-later
// Canonical form of an experiment. It contains only the values that affect a run; all others have
// their defaults.
#pragma once

#include "core/experiment/experiment.h"

namespace trainyard::ui {

// Returns the experiment with defaults in place of everything that does not affect a run: name,
// notes, canvas positions, and fields that the chosen kinds do not use.
experiment::Experiment canonical_form(experiment::Experiment experiment);

}  // namespace trainyard::ui
