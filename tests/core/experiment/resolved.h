// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/experiment/resolve.h"

namespace trainyard::experiment {

// Of an experiment that is right; throws what is told of it otherwise.
Resolved resolved(const Experiment& experiment);

}  // namespace trainyard::experiment
