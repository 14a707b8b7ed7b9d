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

// Returns problems of bfloat16 or tf32 with fp64 or mixed precision, and of a tpu with a format
// other than bfloat16.
base::Problems multiplies_problems(const Experiment& experiment);

// Returns a note that tf32 applies only to ranks on GPUs, or to none; nothing if it applies to all
// or is not set.
std::optional<std::string> tf32_note(const Experiment& experiment);

}  // namespace trainyard::experiment
