// SPDX-License-Identifier: GPL-3.0-or-later
// Roles of drawn devices, and what each role requires of the strategy and the document.
#pragma once

#include "core/data/dataset.h"
#include "core/experiment/experiment.h"

namespace trainyard::experiment {

// Returns the worker that writes the state that all ranks share: the device drawn as chief, else
// the first that takes samples. The drawing must have a worker.
int chief_rank(const Experiment& experiment);

// Returns problems of a valid drawing: roles that the strategy does not use, several devices in a
// role that only one may have, and an evaluator without checkpoints or held-out samples. `data` is
// null if unknown.
base::Problems role_problems(const Experiment& experiment, const data::DataSummary* data);

}  // namespace trainyard::experiment
