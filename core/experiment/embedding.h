// SPDX-License-Identifier: GPL-3.0-or-later
// Data whose first columns are indices, and the layer that looks them up.
#pragma once

#include "core/base/result.h"
#include "core/experiment/experiment.h"

namespace trainyard::experiment {

// Where the first layer is not what the data ask for: indices need an embedding_bag of as many slots, with a row for every index, and that layer
// needs indices. Without such a problem every index is a row, so nothing is asked of samples while they are trained on.
base::Problems embedding_problems(const Experiment& experiment);

}  // namespace trainyard::experiment
