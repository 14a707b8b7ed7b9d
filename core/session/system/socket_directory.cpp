// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/system/socket_directory.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <optional>
#include <random>
#include <string_view>

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/session/system/run_directory.h"

namespace trainyard::session {
namespace {

namespace fs = std::filesystem;
using base::ProblemCode;

// Maximum length of a socket's path, without the terminating zero.
constexpr std::size_t kMaxSocketPathLength = sizeof(sockaddr_un::sun_path) - 1;
constexpr std::size_t kMaxSocketNameLength = 16;  // Longest socket name, such as "/rank-4095".

// Detaches the child: it keeps only the pipe, and gets no signals meant for the parent, such as
// Ctrl-C or a hangup of the terminal.
void leave_parent(int pipe) {
  ::prctl(PR_SET_NAME, "trainyard-sweep");
  ::setsid();
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, nullptr);
  if (pipe > 0) ::close_range(0, static_cast<unsigned>(pipe) - 1, 0);
  ::close_range(static_cast<unsigned>(pipe) + 1, ~0U, 0);
}

// Removes the directory and its files. Retries, because ranks end a moment after their coordinator
// and may still create sockets.
void remove_whole(const fs::path& directory) {
  std::error_code error;
  for (int i = 0; i < 1000 && fs::exists(directory, error); ++i) {
    fs::remove_all(directory, error);
    if (error) ::usleep(10'000);
  }
}

// Waits until the parent ends. Meanwhile, reads the directory to clean, if the parent sends it.
[[noreturn]] void remove_after_parent(int pipe, const fs::path& directory) {
  leave_parent(pipe);
  std::string to_clean;
  for (char byte = 0;;) {
    const ssize_t got = ::read(pipe, &byte, 1);
    if (got == 1) to_clean += byte;
    else if (got == 0 || errno != EINTR) break;
  }
  remove_whole(directory);
  if (!to_clean.empty()) base::remove_unfinished(to_clean);
  ::_exit(0);
}

constexpr std::string_view kPrefix = "run-";
constexpr std::size_t kRandomDigits = 6;

std::string name_of(pid_t process, std::string_view random) {
  return std::string(kPrefix) + std::to_string(process) + "-" + std::string(random);
}

// Returns the process id in a directory name made by `new_path`, or nothing for any other name.
std::optional<pid_t> process_of(const std::string& name) {
  pid_t process = 0;
  if (!name.starts_with(kPrefix) || name.size() <= kPrefix.size() + kRandomDigits)
    return std::nullopt;
  const auto parsed =
      std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), process);
  const std::string_view random = std::string_view(name).substr(name.size() - kRandomDigits);
  const bool ours = parsed.ec == std::errc{} && process > 0 &&
                    random.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  return ours && name == name_of(process, random) ? std::optional(process) : std::nullopt;
}

// Locks a directory, as its creator does for its lifetime. A process id is not enough to identify
// the owner, because containers may share the directory.
base::Descriptor lock(const fs::path& directory) {
  base::Descriptor held(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (held.is_open() && ::flock(held.get(), LOCK_EX | LOCK_NB) != 0) held.close();
  return held;
}

// Removes the socket directories of coordinators that were killed.
void sweep(const fs::path& sockets) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(sockets, error)) {
    const auto process = process_of(entry.path().filename().string());
    std::error_code ignored;
    if (!process || ::kill(*process, 0) == 0 || errno != ESRCH) continue;
    if (const base::Descriptor held = lock(entry.path()); held.is_open())
      fs::remove_all(entry.path(), ignored);
  }
}

base::Result<fs::path> new_path(const fs::path& sockets) {
  std::random_device entropy;
  const std::string random = base::hex(entropy());
  const fs::path path =
      sockets / name_of(::getpid(), std::string_view(random).substr(random.size() - kRandomDigits));
  if (path.string().size() + kMaxSocketNameLength > kMaxSocketPathLength)
    return base::fail(
        {"path_too_long", ProblemCode::bad_input, sockets.string(),
         fmt::format("the path has {} bytes", sockets.string().size()),
         fmt::format("a directory in which the paths of sockets have at most {} bytes",
                     kMaxSocketPathLength),
         "Set XDG_RUNTIME_DIR to a directory with a shorter path."});
  return path;
}

}  // namespace

base::Result<SocketDirectory> SocketDirectory::make() {
  const auto sockets = make_runtime_directory();
  if (!sockets) return base::fail(sockets.error());
  sweep(*sockets);
  auto path = new_path(*sockets);
  if (!path) return base::fail(path.error());
  SocketDirectory made(std::move(*path));
  if (::mkdir(made.path().c_str(), 0700) != 0)
    return base::fail(
        base::system_problem(sockets->string(), "cannot make a directory for sockets", errno));
  // Retries taking the lock: another process may hold it for a moment to probe it.
  for (int i = 0; i < 100 && !made.lock_.is_open(); ++i, ::usleep(1'000))
    made.lock_ = lock(made.path());
  return made;
}

// The child starts before the directory is created, so a kill never leaves the directory behind.
SocketDirectory::SocketDirectory(fs::path path) : path_(std::move(path)) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
  const base::Descriptor read_end(ends[0]);
  alive_ = base::Descriptor(ends[1]);
  child_ = ::fork();
  if (child_ == 0) remove_after_parent(read_end.get(), path_);
}

SocketDirectory::SocketDirectory(SocketDirectory&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      alive_(std::move(other.alive_)),
      lock_(std::move(other.lock_)),
      child_(std::exchange(other.child_, -1)) {}

void SocketDirectory::clean_also(const fs::path& directory) const {
  const std::string path = fs::absolute(directory).string();
  if (has_cleanup()) static_cast<void>(::write(alive_.get(), path.data(), path.size()));
}

bool SocketDirectory::has_cleanup() const {
  siginfo_t ended{};
  return child_ > 0 &&
         ::waitid(P_PID, static_cast<id_t>(child_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         ended.si_pid == 0;
}

bool SocketDirectory::in_use(const fs::path& directory) {
  std::error_code error;
  if (!fs::exists(directory, error)) return false;
  const base::Descriptor held = lock(directory);
  if (!held.is_open()) return true;
  if (process_of(directory.filename().string())) fs::remove_all(directory, error);
  return false;
}

SocketDirectory::~SocketDirectory() {
  if (path_.empty()) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  alive_.close();
  while (child_ > 0 && ::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace trainyard::session
