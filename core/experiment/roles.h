// SPDX-License-Identifier: GPL-3.0-or-later
// What devices are drawn to do, and what each of these asks of the strategy and the document.
#pragma once

#include "core/data/dataset.h"
#include "core/experiment/experiment.h"

namespace trainyard::experiment {

// The worker that writes what all have alike: the one that is drawn as chief, else the first that
// takes samples. Of a drawing with a worker.
int chief_rank(const Experiment& experiment);

// Of a drawing that is sound: roles that the strategy has no use for, several devices with the role
// of one, and an evaluator that would have nothing to read, or nothing to measure. `data` null: not
// known yet.
base::Problems role_problems(const Experiment& experiment, const data::DataSummary* data);

}  // namespace trainyard::experiment
