// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/experiment/resolve.h"

namespace trainyard::experiment {

// Resolves a valid experiment; throws its problems if it is invalid.
Resolved resolved(const Experiment& experiment);

}  // namespace trainyard::experiment
