// SPDX-License-Identifier: GPL-3.0-or-later
// Checks of data sets of sequences, which have a label per element, and of the models for them.
#pragma once

#include "core/base/result.h"
#include "core/experiment/experiment.h"

namespace trainyard::experiment {

// Returns a problem if model, data and sharding do not match. Sequences require an embedding as
// first layer, with a row for every class; other data allow no embedding. The model must predict
// one class for each label of a sample. Sequences require iid sharding, because a sequence has no
// single class and no feature columns. `data` is the summary of the actual data.
base::Problems sequence_problems(const Experiment& experiment, const data::DataSummary& data);

}  // namespace trainyard::experiment
