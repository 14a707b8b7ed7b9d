// SPDX-License-Identifier: GPL-3.0-or-later
// Runs the variants of a sweep, one after the other, each as `trainyard-cli run` in a directory of
// its own. What fails is kept with its reason, and the sweep goes on. One thread.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "core/session/sweep.h"

namespace trainyard::session {

struct SweepParts {
  Sweep sweep;                      // as make_sweep made it
  experiment::Experiment whole;     // data paths absolute
  std::filesystem::path directory;  // as make_sweep_directory made it, locked
  std::string program;              // trainyard-cli
  std::function<int()>
      interrupts;  // Ctrl-Cs so far: each is passed on to what runs, and nothing more begins
  std::function<void(const Sweep&)> observe;  // after every change, once it stands in the manifest
};

// Its end, as the manifest has it: cancelled, failed where any variant failed, else completed. A
// Problem: the manifest cannot be written.
base::Result<Sweep> run_sweep(SweepParts parts);

}  // namespace trainyard::session
