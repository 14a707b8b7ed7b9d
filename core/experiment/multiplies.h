// SPDX-License-Identifier: GPL-3.0-or-later
// What the products of an experiment take of their factors.
#pragma once

#include "core/base/result.h"
#include "core/experiment/experiment.h"

namespace trainyard::experiment {

// `auto` by what it is: bfloat16 where the strategy is tpu, as a TPU's matrix unit takes nothing else; full elsewhere.
Multiplies multiplies_of(const Experiment& experiment);

// bfloat16 beside fp64, and a tpu that would take another thing than bfloat16.
base::Problems multiplies_problems(const Experiment& experiment);

}  // namespace trainyard::experiment
