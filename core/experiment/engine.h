// SPDX-License-Identifier: GPL-3.0-or-later
// Whose collectives an experiment asks for, and whether it can have them.
#pragma once

#include <span>

#include "core/experiment/resolve.h"

namespace trainyard::experiment {

// The engines of this build, `own` the first.
std::span<const Engine> built_engines();

// Of an engine that is not in this build; asks nothing else.
base::Problems absent_engine(Engine asked, std::span<const Engine> built = built_engines());

// What an engine cannot do for this experiment, wherever it runs.
base::Problems engine_problems(const Experiment& experiment);

// The engine that takes this experiment's collectives whole; `own` where there are none.
Engine engine_of(const Resolved& resolved);

}  // namespace trainyard::experiment
