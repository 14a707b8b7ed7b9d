// SPDX-License-Identifier: GPL-3.0-or-later
// What a sweep leaves on disk, under $XDG_DATA_HOME/trainyard/sweeps/ by default:
//
//   experiment.json   as it was given                   sweep.json   the manifest, written anew at every change
//   01_1-rank, 02_ring-on-2-ranks, ...                  sweep.lock   held by the process that sweeps, as long as it lives
//                     the directory of each run         console.log  what it printed, where the workbench started it
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>

#include "core/session/sweep.h"

namespace trainyard::session {

inline constexpr const char* kSweepFile = "sweep.json";

std::filesystem::path default_sweeps_directory();  // $XDG_DATA_HOME/trainyard/sweeps, else
                                                   // ~/.local/share/trainyard/sweeps

// `directory`, or a new one named after time and experiment under the default. One that holds a
// sweep, a run or other files is refused.
base::Result<std::filesystem::path> make_sweep_directory(const std::filesystem::path& directory,
                                                         const std::string& experiment_name);

base::Result<void> write_sweep(const Sweep& sweep,
                               const std::filesystem::path& directory);  // atomic
// Refuses a manifest that is torn, of another kind or version, or changed by hand.
base::Result<Sweep> read_sweep(const std::filesystem::path& directory);

// Held by whoever sweeps, and let go of by the system however that process ends.
class SweepLock {
 public:
  static base::Result<SweepLock> take(
      const std::filesystem::path& directory);  // refused while another process has it
  ~SweepLock();
  SweepLock(SweepLock&& other) noexcept;
  SweepLock& operator=(SweepLock&&) = delete;

 private:
  explicit SweepLock(int file) : file_(file) {}
  int file_;
};

// The process that sweeps there now: another one than this. Nothing where none does.
std::optional<pid_t> sweeping_process(const std::filesystem::path& directory);

}  // namespace trainyard::session
