// SPDX-License-Identifier: GPL-3.0-or-later
// Collective engine of an experiment, and whether it is available and supports the experiment.
#pragma once

#include <span>

#include "core/experiment/resolve.h"

namespace trainyard::experiment {

// Engines of this build, `own` first.
std::span<const Engine> built_engines();

// Returns a problem if the engine is not in this build; checks nothing else.
base::Problems absent_engine(Engine asked, std::span<const Engine> built = built_engines());

// Returns a problem for each setting that the engine does not support. The result does not depend
// on the machine.
base::Problems engine_problems(const Experiment& experiment);

// Returns the engine that executes this experiment's collectives; `own` if there are none.
Engine engine_of(const Resolved& resolved);

}  // namespace trainyard::experiment
