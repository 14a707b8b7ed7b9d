// SPDX-License-Identifier: GPL-3.0-or-later
// Runs the variants of a sweep one after another, each as `trainyard-cli run` in its own directory.
// A failed variant is kept with its reason, and the sweep continues. Single-threaded.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "core/session/sweep/sweep.h"
#include "core/session/system/job_control.h"

namespace trainyard::session {

struct SweepParts {
  Sweep sweep;                      // Manifest from `make_sweep`.
  experiment::Experiment whole;     // The experiment, with absolute data paths.
  std::filesystem::path directory;  // Directory from `make_sweep_directory`, locked.
  std::string program;              // Path of trainyard-cli.
  // Number of Ctrl-Cs so far. Each Ctrl-C is forwarded to the current run. After the first one, no
  // further run starts.
  std::function<int()> interrupts;
  JobControl job_control = {};  // Ctrl-Z suspends the current run as well.
  // Called after every change, once the manifest is written.
  std::function<void(const Sweep&)> observe;
};

// Runs the sweep and returns its final manifest, with a state of canceled, failed (if any variant
// failed) or completed. Returns a Problem if the manifest cannot be written.
base::Result<Sweep> run_sweep(SweepParts parts);

}  // namespace trainyard::session
