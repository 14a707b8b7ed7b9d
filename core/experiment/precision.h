// SPDX-License-Identifier: GPL-3.0-or-later
// Number formats (training.precision). Mixed: what passes between layers, and the gradients of
// that, have 16 bits, as have the weights and biases of linear layers and convolutions when they
// are computed by; parameters themselves, their gradients, moments and statistics are fp32
// (Micikevicius et al. 2018).
#pragma once

#include "core/experiment/resolve.h"

namespace trainyard::experiment {

constexpr bool is_mixed(Precision precision) {
  return precision == Precision::bf16 || precision == Precision::fp16;
}

base::DType activation_dtype(const Resolved& experiment);  // of what passes between layers
base::DType input_dtype(
    const Resolved& experiment);  // of samples: fp32 where they name rows of a table, which 16 bits
                                  // could not, else as activations

// Mixed precision where it means nothing, or where nobody could keep a loss scale.
base::Problems precision_problems(const Experiment& experiment);

}  // namespace trainyard::experiment
