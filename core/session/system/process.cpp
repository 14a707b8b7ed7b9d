// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/system/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>

extern char** environ;

namespace trainyard::session {
namespace {

constexpr std::size_t kPipe = 4096;  // Minimum capacity of a pipe.

// Pipe that contains the full standard input of a child process. The system limits its size,
// usually to 1 MiB.
class Input {
 public:
  explicit Input(const std::string& text) {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) return;
    static_cast<void>(::fcntl(ends_[1], F_SETFL, O_NONBLOCK));
    if (text.size() > kPipe)
      static_cast<void>(::fcntl(ends_[1], F_SETPIPE_SZ, static_cast<int>(text.size())));
    const ssize_t written = ::write(ends_[1], text.data(), text.size());
    ready_ = written == static_cast<ssize_t>(text.size());
    if (written >= 0 && !ready_) errno = EFBIG;
    ::close(ends_[1]);
  }
  ~Input() {
    if (ends_[0] >= 0) ::close(ends_[0]);
  }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  bool ready() const { return ready_; }
  int read_end() const { return ends_[0]; }

 private:
  std::array<int, 2> ends_{-1, -1};
  bool ready_ = false;
};

// Owner of the file actions and attributes that posix_spawn needs.
class SpawnPlan {
 public:
  SpawnPlan(const ProcessOptions& options, int input) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    posix_spawn_file_actions_adddup2(&actions_, input, 0);
    const std::string log = options.log_file.empty() ? "/dev/null" : options.log_file;
    posix_spawn_file_actions_addopen(&actions_, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND,
                                     0644);
    posix_spawn_file_actions_adddup2(&actions_, 1, 2);
    keep(options.descriptors);
    reset_signals(options.new_session);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  // Passes file descriptors to the child. First duplicates them to unused high numbers, because the
  // target number of one descriptor may be the source number of another.
  void keep(const std::vector<std::pair<int, int>>& descriptors) {
    int highest_ours = 2, highest_theirs = 2;
    for (const auto& [ours, theirs] : descriptors) {
      highest_ours = std::max(highest_ours, ours);
      highest_theirs = std::max(highest_theirs, theirs);
    }
    const int above = std::max(highest_ours, highest_theirs) + 1,
              count = static_cast<int>(descriptors.size());
    for (int i = 0; i < count; ++i)
      posix_spawn_file_actions_adddup2(&actions_, descriptors[static_cast<std::size_t>(i)].first,
                                       above + i);
    for (int i = 0; i < count; ++i)
      posix_spawn_file_actions_adddup2(&actions_, above + i,
                                       descriptors[static_cast<std::size_t>(i)].second);
    posix_spawn_file_actions_addclosefrom_np(&actions_, highest_theirs + 1);
  }
  // Gives the child its own process group, so that Ctrl-C on the terminal reaches only the
  // coordinator, which then stops its ranks in order.
  void reset_signals(bool new_session) {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setpgroup(&attributes_, 0);
    const int group = new_session ? POSIX_SPAWN_SETSID : POSIX_SPAWN_SETPGROUP;
    posix_spawnattr_setflags(
        &attributes_, static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | group));
  }

  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

// Returns this process's environment with additions. Variables that are already set keep their
// value.
std::vector<char*> environment_with(const std::vector<std::string>& additions) {
  std::vector<char*> all;
  for (char** at = environ; *at != nullptr; ++at) all.push_back(*at);
  for (const std::string& addition : additions)
    if (::getenv(addition.substr(0, addition.find('=')).c_str()) == nullptr)
      all.push_back(const_cast<char*>(addition.c_str()));
  all.push_back(nullptr);
  return all;
}

std::string describe(int status) {
  if (WIFSIGNALED(status))
    return "signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")";
  return "exit status " + std::to_string(WEXITSTATUS(status));
}

// Restores the default SIGCHLD handler: if the parent process made it ignored, the exit status of
// children would be lost.
void restore_sigchld() {
  struct sigaction now {};
  if (::sigaction(SIGCHLD, nullptr, &now) == 0 && now.sa_handler == SIG_IGN)
    ::signal(SIGCHLD, SIG_DFL);
}

}  // namespace

base::Result<Process> Process::start(const ProcessOptions& options) {
  restore_sigchld();
  std::vector<char*> arguments{const_cast<char*>(options.program.c_str())};
  for (const std::string& argument : options.arguments)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  const Input input(options.input);
  if (!input.ready())
    return base::fail(base::system_problem(
        options.program, "cannot pass the standard input to this program", errno));
  const SpawnPlan plan(options, input.read_end());
  const std::vector<char*> environment = environment_with(options.environment);
  pid_t pid = -1;
  if (const int error = posix_spawnp(&pid, options.program.c_str(), plan.actions(),
                                     plan.attributes(), arguments.data(), environment.data());
      error != 0)
    return base::fail(base::system_problem(options.program, "cannot start this program", error));
  return Process(pid);
}

Process::Process(pid_t pid)
    : pid_(pid), descriptor_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {}

Process::~Process() {
  if (pid_ > 0 && !status_) {
    kill(SIGKILL);
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    reaped(status);
  }
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      status_(other.status_) {}

Process& Process::operator=(Process&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(status_, other.status_);
  return *this;
}

std::optional<std::string> Process::ended() {
  if (!status_) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) reaped(status);
  }
  return status_ ? std::optional(describe(*status_)) : std::nullopt;
}

void Process::reaped(int status) {
  status_ = status;
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

bool Process::killed() const { return status_ && WIFSIGNALED(*status_); }

int Process::exit_code() const {
  if (!status_) return -1;
  return WIFSIGNALED(*status_) ? 128 + WTERMSIG(*status_) : WEXITSTATUS(*status_);
}

std::optional<double> Process::cpu_seconds() const {
  clockid_t clock{};
  timespec used{};
  if (pid_ <= 0 || status_ || ::clock_getcpuclockid(pid_, &clock) != 0 ||
      ::clock_gettime(clock, &used) != 0)
    return std::nullopt;
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

void Process::kill(int signal) {
  if (pid_ > 0 && !status_) ::kill(pid_, signal);
}

void Process::release() {
  pid_ = -1;
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

}  // namespace trainyard::session
