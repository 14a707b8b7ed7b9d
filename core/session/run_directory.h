// SPDX-License-Identifier: GPL-3.0-or-later
// What a run leaves on disk, under $XDG_DATA_HOME/trainyard/runs/ by default:
//
//   experiment.json   as it was given           recording.try  everything that happened (core/telemetry/recording.h)
//   resolved.json     as it was run             logs/          what each rank's process printed
//   plan.txt          the plan of every rank    run.log        what coordinator and ranks said, in one
//   control           endpoint, while it lives  checkpoints/   step-N/: the weights (checkpoint.h)
//   result.json       the result line
#pragma once

#include <filesystem>
#include <string>

#include "core/base/result.h"

namespace trainyard::session {

std::filesystem::path
default_runs_directory();  // $XDG_DATA_HOME/trainyard/runs, else ~/.local/share/trainyard/runs

// $XDG_RUNTIME_DIR/trainyard, else /tmp/trainyard-UID, mode 0700: where runs keep their sockets
// (socket_directory.h). Refused where it belongs to another user.
base::Result<std::filesystem::path> make_runtime_directory();

// What a directory is in use for: "holds a run already" where it has `file`, which is `of_what`;
// empty: for nothing. Nothing is written among files of somebody else; what the workbench puts down
// for what it starts may be there.
std::string use_of(const std::filesystem::path& directory, const char* file,
                   const std::string& of_what);

// `directory`, or a new one named after time and experiment under the default; with logs/ in it. A
// directory that holds a run or other files already is refused.
base::Result<std::filesystem::path> make_run_directory(const std::filesystem::path& directory,
                                                       const std::string& experiment_name);

// Makes a new directory below `runs`: "2026-11-21_14-03-12_four-devices",
// "2026-11-21_14-03-12_untitled" where there is no name.
base::Result<std::filesystem::path> make_new_run_directory(const std::filesystem::path& runs,
                                                           const std::string& experiment_name);

}  // namespace trainyard::session
