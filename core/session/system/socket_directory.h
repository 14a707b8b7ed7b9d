// SPDX-License-Identifier: GPL-3.0-or-later
// Directory of a run's sockets, run-PID-ID below the runtime directory (run_directory.h), mode
// 0700. The directory is removed when this object is destroyed. If this process is killed, a small
// child process, which only waits for that, removes the directory (cleanup process).
#pragma once

#include <sys/types.h>

#include <filesystem>

#include "core/base/descriptor.h"
#include "core/base/result.h"

namespace trainyard::session {

class SocketDirectory {
 public:
  // Creates the directory. Forks, so it must be called before this process has threads. If fork
  // fails and this process is killed, the next call of any process removes the directory. Refused
  // if paths of sockets in it would exceed 108 bytes.
  static base::Result<SocketDirectory> make();
  ~SocketDirectory();
  SocketDirectory(SocketDirectory&& other) noexcept;
  SocketDirectory(const SocketDirectory&) = delete;
  SocketDirectory& operator=(const SocketDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

  // Requests that the cleanup process also removes unfinished files (`base::remove_unfinished`)
  // from this directory tree, which processes of the run leave behind if they are killed.
  void clean_also(const std::filesystem::path& directory) const;
  // False if the cleanup process could not be started, or has ended.
  bool has_cleanup() const;

  // True if the process that made the directory still runs. If it does not, removes the directory.
  static bool in_use(const std::filesystem::path& directory);

 private:
  explicit SocketDirectory(std::filesystem::path path);

  std::filesystem::path path_;  // Path of the directory; empty after a move from this object.
  base::Descriptor alive_{-1};  // End of a pipe that closes with this process.
  base::Descriptor lock_{-1};   // Lock on the directory, which prevents its removal by others.
  pid_t child_ = -1;
};

}  // namespace trainyard::session
