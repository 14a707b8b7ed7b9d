// SPDX-License-Identifier: GPL-3.0-or-later
// What the products of an experiment take of their factors.
#pragma once

#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/experiment/experiment.h"

namespace trainyard::experiment {

// `auto` by what it is: bfloat16 where the strategy is tpu, as a TPU's matrix unit takes nothing
// else; full elsewhere. `tf32` where no rank is on a GPU: full.
Multiplies multiplies_of(const Experiment& experiment);

// What rounds beside fp64, and a tpu that would take another thing than bfloat16.
base::Problems multiplies_problems(const Experiment& experiment);

// Of tf32, where not all ranks are on GPUs: for whom it is.
std::optional<std::string> tf32_said(const Experiment& experiment);

}  // namespace trainyard::experiment
