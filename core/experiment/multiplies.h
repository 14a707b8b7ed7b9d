// SPDX-License-Identifier: GPL-3.0-or-later
// Number format of the inputs of matrix multiplications (training.multiplies).
#pragma once

#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/experiment/experiment.h"

namespace trainyard::experiment {

// Resolves `auto`: bfloat16 for the strategy tpu, because the matrix unit of a TPU supports nothing
// else; full for others. `tf32` becomes full if no rank is on a GPU.
Multiplies factor_format_of(const Experiment& experiment);

// Returns a problem if bfloat16 or tf32 is combined with fp64 or mixed precision, or if the
// strategy tpu has a format other than bfloat16.
base::Problems multiplies_problems(const Experiment& experiment);

// Returns a note if tf32 is set and applies only to some ranks or to none, because it needs GPUs.
// In all other cases, returns nothing.
std::optional<std::string> tf32_note(const Experiment& experiment);

}  // namespace trainyard::experiment
