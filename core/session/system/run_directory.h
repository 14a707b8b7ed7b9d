// SPDX-License-Identifier: GPL-3.0-or-later
// Files of a run, under $XDG_DATA_HOME/trainyard/runs/ by default:
//
//   experiment.json   the experiment after all overrides
//   resolved.json     as run
//   plan.txt          plan of every rank
//   control           endpoint of the coordinator while it runs
//   result.json       result line
//   recording.try     all events (core/telemetry/recording.h)
//   run.log           log of coordinator and ranks
//   logs/             standard output and error of each rank's process
//   checkpoints/      step-N/: weights (checkpoint.h)
#pragma once

#include <filesystem>
#include <string>

#include "core/base/result.h"

namespace trainyard::session {

// Returns $XDG_DATA_HOME/trainyard/runs, else ~/.local/share/trainyard/runs.
std::filesystem::path default_runs_directory();

// Creates $XDG_RUNTIME_DIR/trainyard, else /tmp/trainyard-UID, mode 0700, where runs keep their
// sockets (socket_directory.h). Refused if it belongs to another user.
base::Result<std::filesystem::path> make_runtime_directory();

// Returns the reason why a directory cannot be used for a new run or sweep; empty if it can be
// used. If it contains `file`, the reason is "already contains" and `of_what`, such as "a run". A
// directory with unrelated files cannot be used either, except for the files that the workbench
// writes before it starts a run.
std::string use_of(const std::filesystem::path& directory, const char* file,
                   const std::string& of_what);

// Creates `directory`, or a new one named after time and experiment under the default, with logs/
// in it. Refuses a directory that already holds a run or other files.
base::Result<std::filesystem::path> make_run_directory(const std::filesystem::path& directory,
                                                       const std::string& experiment_name);

// Creates a new directory below `runs`: "2026-11-21_14-03-12_four-devices", or
// "2026-11-21_14-03-12_untitled" if there is no name.
base::Result<std::filesystem::path> make_new_run_directory(const std::filesystem::path& runs,
                                                           const std::string& experiment_name);

}  // namespace trainyard::session
