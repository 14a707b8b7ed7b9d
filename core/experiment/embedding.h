// SPDX-License-Identifier: GPL-3.0-or-later
// Embedding layers for data whose first columns are indices.
#pragma once

#include "core/base/result.h"
#include "core/experiment/experiment.h"

namespace trainyard::experiment {

// Returns problems of layers that do not match the data. If the data has indices, the first layer
// must be an embedding_bag. Every lookup layer must have as many slots as the data has index
// columns, and a row for every index. Without indices no lookup layer is allowed. After this check
// every index has a row, so training does not check samples again.
base::Problems embedding_problems(const Experiment& experiment);

}  // namespace trainyard::experiment
