// SPDX-License-Identifier: GPL-3.0-or-later
// Canonical form of an experiment: only the values that affect a run.
#pragma once

#include "core/experiment/experiment.h"

namespace trainyard::ui {

// Resets everything that has no effect to its default: name, notes, canvas positions, and fields
// that the chosen kinds do not use.
experiment::Experiment canonical_form(experiment::Experiment experiment);

}  // namespace trainyard::ui
