// SPDX-License-Identifier: GPL-3.0-or-later
// The directory of a run's sockets, run-PID-ID below the runtime directory (run_directory.h), mode
// 0700, for as long as this process lives. It goes with its owner, and also when this process is
// killed: a small child of it does nothing but wait for that.
#pragma once

#include <sys/types.h>

#include <filesystem>

#include "core/base/descriptor.h"
#include "core/base/result.h"

namespace trainyard::session {

class SocketDirectory {
 public:
  // Forks: before this process has threads. Where no child can be had, what a killed process leaves
  // goes at the next start: directories of dead processes are removed first. Refused where the
  // paths of sockets in it would be too long for one (108 bytes).
  static base::Result<SocketDirectory> make();
  ~SocketDirectory();
  SocketDirectory(SocketDirectory&& other) noexcept;
  SocketDirectory(const SocketDirectory&) = delete;
  SocketDirectory& operator=(const SocketDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  explicit SocketDirectory(std::filesystem::path path);

  std::filesystem::path path_;  // empty: moved from
  base::Descriptor alive_{-1};  // the end of a pipe that closes with this process
  base::Descriptor lock_{-1};   // on the directory: nobody sweeps it
  pid_t child_ = -1;
};

}  // namespace trainyard::session
