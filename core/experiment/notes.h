// SPDX-License-Identifier: GPL-3.0-or-later
// Notes on settings that are valid, but probably not what the user wants: settings without effect
// in a run of this length, and batch normalization over one sample.
#pragma once

#include <string>
#include <vector>

#include "core/experiment/resolve.h"

namespace trainyard::experiment {

// Returns the notes on the settings of the experiment, in the order of its fields.
std::vector<Note> setting_notes(const Resolved& resolved);

// "training.schedule.warmup_steps: the warm-up ..."
std::string to_string(const Note& note);

}  // namespace trainyard::experiment
