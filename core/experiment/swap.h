// SPDX-License-Identifier: GPL-3.0-or-later
// What is put aside while a device does not need it (SwapSpec). How that is done is in
// core/strategy/swap.h.
#pragma once

#include "core/experiment/experiment.h"

namespace trainyard::experiment {

inline bool swaps(const TrainingSpec& training) {
  return training.swap.activations != SwapTo::nowhere || training.swap.optimizer != SwapTo::nowhere;
}
inline bool swaps_to_disk(const TrainingSpec& training) {
  return training.swap.activations == SwapTo::disk || training.swap.optimizer == SwapTo::disk;
}

// Moments where there are none, or of servers, which go by what arrives; and a directory that is
// none from the root on.
base::Problems swap_problems(const Experiment& experiment);

// A directory in which no file can be made on this machine: one is, and removed. Where a rank runs
// elsewhere, it says so itself.
base::Problems swap_directory_problems(const Experiment& experiment);

}  // namespace trainyard::experiment
