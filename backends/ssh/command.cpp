// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/ssh/command.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <system_error>

#include "core/base/clock.h"
#include "core/base/descriptor.h"
#include "core/base/file.h"
#include "core/session/system/process.h"

namespace trainyard::ssh {
namespace {

using base::Result;

constexpr int kTickMilliseconds = 50;
constexpr std::size_t kPrintedBytes = std::size_t{64} << 10, kBlockBytes = std::size_t{64} << 10;

// Sends a file to the standard input of a process. A socket instead of a pipe, so that a process
// that ends does not raise SIGPIPE here.
class Input {
 public:
  static Result<Input> open(const std::filesystem::path& path) {
    Input input;
    if (path.empty()) return input;
    input.file_ = base::Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (input.file_.get() < 0)
      return base::fail(base::system_problem(path.string(), "cannot open the file", errno));
    std::error_code ignored;
    input.total_ = std::filesystem::file_size(path, ignored);
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
      return base::fail(base::system_problem("ssh", "cannot make a socket", errno));
    input.own_end_ = base::Descriptor(ends[0]);
    input.child_end_ = base::Descriptor(ends[1]);
    return input;
  }

  int child_end() const { return child_end_.get(); }
  void close_child_end() { child_end_ = base::Descriptor(-1); }
  bool is_open() const { return own_end_.get() >= 0; }
  std::uint64_t sent() const { return sent_; }
  std::uint64_t total() const { return total_; }

  // Sends what fits, waiting for a tick at most. Closes the input at its end.
  void send() {
    pollfd item{own_end_.get(), POLLOUT, 0};
    if (::poll(&item, 1, kTickMilliseconds) != 1) return;
    std::array<char, kBlockBytes> block;
    const ssize_t got = ::pread(file_.get(), block.data(), block.size(), static_cast<off_t>(sent_));
    const ssize_t count = got <= 0
                              ? got
                              : ::send(own_end_.get(), block.data(), static_cast<std::size_t>(got),
                                       MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count > 0) sent_ += static_cast<std::uint64_t>(count);
    else if (got <= 0 || (errno != EAGAIN && errno != EINTR)) own_end_ = base::Descriptor(-1);
  }

 private:
  base::Descriptor file_{-1}, own_end_{-1}, child_end_{-1};
  std::uint64_t sent_ = 0, total_ = 0;
};

void wait_for_end(const session::Process& process) {
  pollfd item{process.descriptor(), POLLIN, 0};
  ::poll(&item, 1, kTickMilliseconds);
}

}  // namespace

Result<PrivateDirectory> PrivateDirectory::make() {
  std::error_code ignored;
  std::filesystem::path temporary = std::filesystem::temp_directory_path(ignored);
  if (temporary.empty()) temporary = "/tmp";
  std::string path = (temporary / "trainyard-XXXXXX").string();
  if (::mkdtemp(path.data()) == nullptr)
    return base::fail(
        base::system_problem(temporary.string(), "cannot make a temporary directory", errno));
  return PrivateDirectory(path);
}

PrivateDirectory::PrivateDirectory(PrivateDirectory&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

PrivateDirectory::~PrivateDirectory() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

Result<CommandResult> run(const Command& command) {
  auto directory = PrivateDirectory::make();
  if (!directory) return base::fail(directory.error());
  auto input = Input::open(command.input);
  if (!input) return base::fail(input.error());
  session::ProcessOptions options;
  options.program = command.program;
  options.arguments = command.arguments;
  options.log_file = (*directory / "printed").string();
  if (input->child_end() >= 0) options.descriptors = {{input->child_end(), 0}};
  auto process = session::Process::start(options);
  if (!process) return base::fail(process.error());
  input->close_child_end();
  const std::int64_t limit_ns = static_cast<std::int64_t>(command.limit_seconds * 1e9);
  std::int64_t active_ns = base::now_nanoseconds();
  while (!process->ended()) {
    const std::uint64_t before = input->sent();
    if (input->is_open()) input->send();
    else wait_for_end(*process);
    if (input->sent() != before) active_ns = base::now_nanoseconds();
    if (command.progress && !command.progress(input->sent(), input->total())) {
      process->kill(SIGTERM);
      return base::fail({"canceled", base::ProblemCode::canceled, command.program,
                         "canceled by the user", "", ""});
    }
    if (base::now_nanoseconds() - active_ns > limit_ns)
      return base::fail({"command_timed_out", base::ProblemCode::unavailable, command.program,
                         fmt::format("no progress for {:.0f} s", command.limit_seconds), "",
                         "Check the network."});
  }
  const auto printed = base::read_file(*directory / "printed", kPrintedBytes);
  return CommandResult{process->exit_code(), printed ? *printed : ""};
}

std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace trainyard::ssh
