// SPDX-License-Identifier: GPL-3.0-or-later
// Notes on settings that are valid, but probably not what the user wants: settings without effect
// in a run of this length, batch normalization over one sample, and links without traffic.
#pragma once

#include <string>
#include <vector>

#include "core/experiment/resolve.h"

namespace trainyard::experiment {

// Returns the notes on the data files (`Resolved::notes`), then those on settings.
std::vector<Note> all_notes(const Resolved& resolved);

// "training.schedule.warmup_steps: the warm-up ..."
std::string to_string(const Note& note);

}  // namespace trainyard::experiment
