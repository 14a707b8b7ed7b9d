// SPDX-License-Identifier: GPL-3.0-or-later
// Files of a sweep, under $XDG_DATA_HOME/trainyard/sweeps/ by default:
//
//   experiment.json   as given
//   01_1-rank, 02_ring-on-2-ranks, ...   directory of each run
//   sweep.json        manifest, rewritten at every change
//   sweep.lock        held by the process that runs the sweep
//   console.log       output of that process, if the workbench started it
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>

#include "core/session/sweep/sweep.h"

namespace trainyard::session {

inline constexpr const char* kSweepFile = "sweep.json";

// $XDG_DATA_HOME/trainyard/sweeps, else ~/.local/share/trainyard/sweeps.
std::filesystem::path default_sweeps_directory();

// Creates `directory`, or a new one named after time and experiment under the default. Refuses a
// directory that contains a sweep, a run or other files.
base::Result<std::filesystem::path> make_sweep_directory(const std::filesystem::path& directory,
                                                         const std::string& experiment_name);

// Writes the manifest atomically.
base::Result<void> write_sweep(const Sweep& sweep, const std::filesystem::path& directory);
// Reads the manifest. Refuses a manifest that is truncated, of another kind or version, or edited
// by hand.
base::Result<Sweep> read_sweep(const std::filesystem::path& directory);

// Lock held by the process that runs a sweep. The system releases it however that process ends.
class SweepLock {
 public:
  // Takes the lock; refused while another process holds it.
  static base::Result<SweepLock> take(const std::filesystem::path& directory);
  ~SweepLock();
  SweepLock(SweepLock&& other) noexcept;
  SweepLock& operator=(SweepLock&&) = delete;

 private:
  explicit SweepLock(int file) : file_(file) {}
  int file_;
};

// Returns the other process that runs the sweep now; nothing if there is none.
std::optional<pid_t> sweeping_process(const std::filesystem::path& directory);

}  // namespace trainyard::session
