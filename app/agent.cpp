// SPDX-License-Identifier: GPL-3.0-or-later
// trainyard-agent: starts the ranks of a run on this host, for a coordinator on another one. The
// coordinator starts it by ssh, and both exchange frames over its standard input and output. Or a
// person joins this machine to a listener, and an agent is started for each coordinator.
#include "core/session/hosts/agent.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <sstream>

#include "app/agent_join.h"
#include "app/command_line.h"
#include "app/network_address.h"
#include "app/paths.h"
#include "backends/shm/transport.h"
#include "backends/ssh/agent_bundle.h"
#include "backends/ssh/ssh.h"
#include "backends/zmq/relay.h"
#include "core/base/descriptor_limit.h"
#include "core/base/log.h"
#include "core/base/machine.h"
#include "core/session/system/socket_directory.h"

namespace {

using namespace trainyard;

struct AgentArguments {
  bool stdio = false, as_root = false;
  std::int64_t memory = 0;  // limit of what ranks may use; 0: none
  std::string reached_at, reached_from;
};

// Limit of the cache of data files.
constexpr std::int64_t kMaxCacheBytes = 20'000'000'000;

// Directory of the cache of data files: below $XDG_CACHE_HOME, else below ~/.cache.
std::filesystem::path file_cache_directory() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const char* const home = std::getenv("HOME");
  const std::filesystem::path base = cache != nullptr && *cache == '/'
                                         ? std::filesystem::path(cache)
                                         : std::filesystem::path(home ? home : "/tmp") / ".cache";
  return base / "trainyard" / "files";
}

// Returns the number of NVIDIA GPUs, as the driver states it.
std::int64_t count_gpus() {
  std::error_code error;
  std::int64_t gpus = 0;
  for (std::filesystem::directory_iterator at("/proc/driver/nvidia/gpus", error), end;
       !error && at != end; at.increment(error))
    ++gpus;
  return gpus;
}

// Returns the free space of the disk of a directory that may not exist yet; -1 if it is not known.
std::int64_t free_space(std::filesystem::path directory) {
  std::error_code error;
  while (!std::filesystem::exists(directory, error) && directory.has_relative_path())
    directory = directory.parent_path();
  const auto space = std::filesystem::space(directory, error);
  return error ? -1 : static_cast<std::int64_t>(space.available);
}

session::AgentHello hello_of_this_host(const AgentArguments& arguments) {
  session::AgentHello hello;
  hello.software = TRAINYARD_VERSION;
  hello.hash = ssh::agent_hash(app::program_directory());
  hello.host = app::host_name();
  hello.architecture = ssh::architecture();
  if (const passwd* user = ::getpwuid(::getuid())) hello.user = user->pw_name;
  hello.cores = base::usable_cores();
  hello.cpu = base::cpu_name();
  hello.cpu_level = base::cpu_level();
  hello.memory_bytes = arguments.memory > 0 ? std::min(arguments.memory, base::usable_memory())
                                            : base::usable_memory();
  hello.gpus = count_gpus();
  hello.free_disk_bytes = free_space(file_cache_directory());
  for (app::InterfaceAddress& one : app::own_interfaces()) {
    hello.interfaces.push_back(std::move(one.interface));
    hello.addresses.push_back(std::move(one.address));
  }
  // "CLIENT PORT SERVER PORT", see ssh(1)
  if (const char* connection = std::getenv("SSH_CONNECTION")) {
    std::istringstream words(connection);
    std::string port;
    words >> hello.reached_from >> port >> hello.reached_at;
  }
  if (!arguments.reached_at.empty()) hello.reached_at = arguments.reached_at;
  if (!arguments.reached_from.empty()) hello.reached_from = arguments.reached_from;
  return hello;
}

// Makes the memory that the ranks of this host share.
base::Result<session::RankProcessParts> prepare(const session::PrepareRun& run) {
  session::RankProcessParts parts;
  if (run.shared_bytes.empty()) return parts;
  constexpr int kNumberInChild = 3;
  const std::vector<std::size_t> bytes(run.shared_bytes.begin(), run.shared_bytes.end());
  return shm::create(bytes, run.channels).map([&](int memory) {
    parts.descriptors.emplace_back(memory, kNumberInChild);
    parts.arguments = {"--shared-memory", std::to_string(kNumberInChild)};
    return parts;
  });
}

int run_agent(const AgentArguments& arguments) {
  if (!arguments.stdio)
    return app::fail_with(
        {"missing_option", base::ProblemCode::bad_usage, "trainyard-agent",
         "the agent has no connection", "--stdio, or the verb join or from-environment",
         "Name this host in an experiment; the coordinator then starts the agent. Or join "
         "a listener: trainyard-agent join INVITATION."},
        2);
  if (const int refused = app::refuse_root(arguments.as_root); refused != 0) return refused;
  base::set_log_name("agent");
  base::raise_descriptor_limit();
  for (const int signal : {SIGPIPE, SIGXFSZ, SIGHUP}) ::signal(signal, SIG_IGN);
  auto sockets = session::SocketDirectory::make();
  if (!sockets) return app::fail_with(sockets.error(), 3);
  session::AgentParts parts;
  // Standard output is for frames only.
  parts.stream = std::make_unique<session::FrameStream>(::dup(STDIN_FILENO), ::dup(STDOUT_FILENO),
                                                        "coordinator");
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  parts.hello = hello_of_this_host(arguments);
  parts.rank_program = (app::program_directory() / "trainyard-rank").string();
  parts.directory = sockets->path();
  parts.files = std::make_unique<session::FileCache>(file_cache_directory(), kMaxCacheBytes);
  parts.relay_ranks = zmq::relay_ranks;
  parts.prepare = prepare;
  const auto served = session::run_agent(std::move(parts));
  return served ? 0 : app::fail_with(served.error(), 3);
}

}  // namespace

int main(int argc, char** argv) {
  app::Program program("trainyard-agent",
                       "Starts ranks on this host for a coordinator on another host.",
                       TRAINYARD_VERSION);
  app::Verb verb = program.verb();
  AgentArguments& arguments = verb.on_run(run_agent);
  verb.flag("--stdio", arguments.stdio, "Exchange frames over standard input and output");
  verb.flag("--as-root", arguments.as_root, "Run although the user is root");
  verb.option("--memory", arguments.memory, "Limit of the memory that this host offers, in bytes");
  verb.option("--reached-at", arguments.reached_at, "Address of this host for other machines");
  verb.option("--reached-from", arguments.reached_from, "Address of the coordinator's machine");
  app::add_join_verbs(program.verb());
  const auto ran = program.run(argc, argv);
  if (!ran) std::cerr << "error: " << base::to_string(ran.error()) << "\n";
  return ran ? *ran : 2;
}
