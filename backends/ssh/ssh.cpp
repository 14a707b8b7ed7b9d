// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/ssh/ssh.h"

#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "backends/ssh/command.h"
#include "core/base/descriptor.h"
#include "core/base/file.h"

namespace trainyard::ssh {
namespace {

struct Pipe {
  base::Descriptor read_end{-1}, write_end{-1};
};

base::Result<Pipe> make_pipe(const std::string& where) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return base::fail(base::system_problem(where, "cannot make a pipe", errno));
  return Pipe{base::Descriptor(ends[0]), base::Descriptor(ends[1])};
}

}  // namespace

std::vector<std::string> arguments_of(const Options& options) {
  std::string command;
  for (const std::string& word : options.agent)
    command += (command.empty() ? "" : " ") + quoted(word);
  return {"-T",
          "-a",
          "-x",
          "-o",
          "ClearAllForwardings=yes",
          "-o",
          "BatchMode=yes",
          "-o",
          "ConnectTimeout=10",
          "-o",
          "ServerAliveInterval=5",
          "--",
          options.destination,
          command};
}

std::vector<std::string> srun_arguments_of(const Options& options) {
  std::vector<std::string> arguments{
      "--overlap", "--nodes=1", "--ntasks=1",
      "--nodelist=" + options.destination.substr(kSlurmPrefix.size()), "--"};
  arguments.insert(arguments.end(), options.agent.begin(), options.agent.end());
  return arguments;
}

std::string architecture() {
  utsname system{};
  return ::uname(&system) == 0 ? system.machine : "";
}

base::Result<Connection> connect(const Options& options) {
  if (options.destination.empty() || options.destination.front() == '-')
    return base::fail({"bad_address", base::ProblemCode::bad_input, options.destination,
                       "this is not the address of a host", "[USER@]HOST",
                       "Correct the address of the host."});
  auto to = make_pipe(options.destination), from = make_pipe(options.destination);
  if (!to) return base::fail(to.error());
  if (!from) return base::fail(from.error());
  session::ProcessOptions process;
  const bool is_node = options.destination.starts_with(kSlurmPrefix);
  process.program = is_node ? "srun" : "ssh";
  process.arguments = is_node ? srun_arguments_of(options) : arguments_of(options);
  process.log_file = options.log_file;
  process.descriptors = {{to->read_end.get(), 0}, {from->write_end.get(), 1}};
  auto started = session::Process::start(process);
  if (!started) return base::fail(started.error());
  // The stream closes its own copies.
  return Connection{std::move(*started),
                    std::make_unique<session::FrameStream>(
                        ::fcntl(from->read_end.get(), F_DUPFD_CLOEXEC, 3),
                        ::fcntl(to->write_end.get(), F_DUPFD_CLOEXEC, 3), options.destination)};
}

}  // namespace trainyard::ssh
