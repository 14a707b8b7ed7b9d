// SPDX-License-Identifier: GPL-3.0-or-later
// Data that are sequences, with a label for each of their numbers, and the models that take them.
#pragma once

#include "core/base/result.h"
#include "core/experiment/experiment.h"

namespace trainyard::experiment {

// Where model, data and sharding do not fit: sequences need an embedding first, with a row for
// every class, and other data none; the model foretells as many classes of a sample as it has
// labels; a sequence has no one class and no columns, so its samples are dealt out anew. Of data as
// they were found.
base::Problems sequence_problems(const Experiment& experiment, const data::DataSummary& data);

}  // namespace trainyard::experiment
