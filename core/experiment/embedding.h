// SPDX-License-Identifier: GPL-3.0-or-later
// Embedding layers for data whose first columns are indices.
#pragma once

#include "core/base/result.h"
#include "core/experiment/experiment.h"

namespace trainyard::experiment {

// Returns problems of layers that do not fit the data. Indices require an embedding_bag as first
// layer, and every lookup layer needs as many slots as the data and a row for every index. Data
// without indices allow no lookup layer. Without problems every index has a row, so samples need no
// check during training.
base::Problems embedding_problems(const Experiment& experiment);

}  // namespace trainyard::experiment
