// SPDX-License-Identifier: GPL-3.0-or-later
// Data whose first columns are indices, and the layers that look them up.
#pragma once

#include "core/base/result.h"
#include "core/experiment/experiment.h"

namespace trainyard::experiment {

// Where the layers are not what the data ask for: indices need an embedding_bag first, and whatever
// layer looks them up has as many slots, and a row for every index; where there are none, no layer
// looks any up. Without such a problem every index is a row, so nothing is asked of samples while
// they are trained on.
base::Problems embedding_problems(const Experiment& experiment);

}  // namespace trainyard::experiment
