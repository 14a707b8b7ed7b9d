// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/socket_directory.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "core/session/run_directory.h"

namespace trainyard::session {
namespace {

namespace fs = std::filesystem;

// Keeps nothing of its parent but the pipe, and hears no signal that is meant for it: Ctrl-C in a terminal, or its closing.
void leave_parent(int pipe) {
  ::prctl(PR_SET_NAME, "trainyard-sweep");
  ::setsid();
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, nullptr);
  if (pipe > 0) ::close_range(0, static_cast<unsigned>(pipe) - 1, 0);
  ::close_range(static_cast<unsigned>(pipe) + 1, ~0U, 0);
}

[[noreturn]] void remove_after_parent(int pipe, const fs::path& directory) {
  leave_parent(pipe);
  char nothing = 0;
  while (::read(pipe, &nothing, 1) < 0 && errno == EINTR) {
  }
  std::error_code ignored;
  fs::remove_all(directory, ignored);
  ::_exit(0);
}

}  // namespace

base::Result<SocketDirectory> SocketDirectory::make() {
  auto path = make_socket_directory();
  if (!path) return base::fail(path.error());
  return SocketDirectory(std::move(*path));
}

SocketDirectory::SocketDirectory(fs::path path) : path_(std::move(path)) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
  const base::Descriptor read_end(ends[0]);
  alive_ = base::Descriptor(ends[1]);
  child_ = ::fork();
  if (child_ == 0) remove_after_parent(read_end.get(), path_);
}

SocketDirectory::SocketDirectory(SocketDirectory&& other) noexcept
    : path_(std::exchange(other.path_, {})), alive_(std::move(other.alive_)), child_(std::exchange(other.child_, -1)) {}

SocketDirectory::~SocketDirectory() {
  if (path_.empty()) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  alive_.close();
  while (child_ > 0 && ::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace trainyard::session
