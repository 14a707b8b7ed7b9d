// SPDX-License-Identifier: GPL-3.0-or-later
// Offload of activations and optimizer moments (OffloadSpec). Implemented in core/strategy/swap.h.
#pragma once

#include "core/experiment/experiment.h"

namespace trainyard::experiment {

inline bool offloads(const TrainingSpec& training) {
  return training.swap.activations != OffloadTarget::nowhere ||
         training.swap.optimizer != OffloadTarget::nowhere;
}
inline bool offloads_to_disk(const TrainingSpec& training) {
  return training.swap.activations == OffloadTarget::disk ||
         training.swap.optimizer == OffloadTarget::disk;
}

// Returns a problem if the moments to offload do not exist, if they are on servers (whose accesses
// cannot be predicted), or if the directory is not absolute.
base::Problems offload_problems(const Experiment& experiment);

// Returns a problem if no file can be created in the directory on this machine; tests it with a
// temporary file. A rank on another machine reports this problem itself.
base::Problems offload_directory_problems(const Experiment& experiment);

}  // namespace trainyard::experiment
