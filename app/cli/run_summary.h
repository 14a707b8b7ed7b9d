// SPDX-License-Identifier: GPL-3.0-or-later
// Summary of a run that `run` prints on standard output when the run has ended.
#pragma once

#include "core/base/json_fwd.h"
#include "core/experiment/experiment.h"

namespace trainyard::cli {

// `r`: result line of the run. `given`: the experiment as the user wrote it.
void print_run_summary(const base::Json& r, const experiment::Experiment& given);

}  // namespace trainyard::cli
