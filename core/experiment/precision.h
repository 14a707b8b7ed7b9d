// SPDX-License-Identifier: GPL-3.0-or-later
// Number formats (training.precision). Mixed precision: activations, their gradients, and the
// weights and biases used in linear layers and convolutions have 16 bits; stored parameters, their
// gradients, moments and statistics are fp32 (Micikevicius et al. 2018).
#pragma once

#include "core/experiment/resolve.h"

namespace trainyard::experiment {

constexpr bool is_mixed(Precision precision) {
  return precision == Precision::bf16 || precision == Precision::fp16;
}

base::DType activation_dtype(const Resolved& experiment);  // Format of activations.
base::DType input_dtype(
    // Number format of samples: fp32 if the samples are row numbers of a table, because 16 bits
    // could not hold these; else the format of activations.
    const Resolved& experiment);

// Returns a problem if mixed precision has no effect in this experiment, or if its loss scale
// cannot be adjusted.
base::Problems precision_problems(const Experiment& experiment);

}  // namespace trainyard::experiment
