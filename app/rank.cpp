// SPDX-License-Identifier: GPL-3.0-or-later
// trainyard-rank: the process of one rank, which stands for one drawn device. The coordinator
// starts it and passes a token on standard input.
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <iostream>

#include "app/command_line.h"
#include "app/data_plane.h"
#include "app/devices.h"
#include "app/drawn_times.h"
#include "app/engine.h"
#include "app/virtual_clock.h"
#include "backends/zmq/control.h"
#include "core/base/descriptor_limit.h"
#include "core/base/log.h"
#include "core/session/rank/virtual_ranks.h"

namespace {

using namespace trainyard;

// Makes this process end when its parent ends, even if the parent is killed. Returns false if the
// parent has already ended.
bool end_with_parent(pid_t parent) {
  return ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && ::getppid() == parent;
}

std::string socket_directory(const std::string& endpoint) {
  const std::size_t scheme = endpoint.find("://");
  return scheme == std::string::npos
             ? ""
             : std::filesystem::path(endpoint.substr(scheme + 3)).parent_path().string();
}

int exit_code(const base::Problem& problem) {
  if (problem.code == base::ProblemCode::refused) return 4;
  return problem.code == base::ProblemCode::bad_usage ||
                 problem.code == base::ProblemCode::bad_input
             ? 2
             : 3;
}

int not_a_child(pid_t parent) {
  std::cerr << "error: process " << parent
            << " did not start this process, or has ended. To start ranks, use: trainyard-cli run "
               "EXPERIMENT\n";
  return 2;
}

// Runs all ranks in this process. Reads their tokens from standard input, one per line.
base::Result<void> run_virtual(int ranks, const std::string& endpoint) {
  base::set_log_name("virtual ranks");
  std::vector<session::RankIdentity> identities;
  for (int rank = 0; rank < ranks; ++rank) {
    session::RankIdentity& identity =
        identities.emplace_back(session::RankIdentity{rank, "", endpoint});
    std::getline(std::cin, identity.token);
  }
  base::log_info("process " + std::to_string(::getpid()) + ", software " TRAINYARD_VERSION);
  return session::run_virtual_ranks(identities,
                                    {zmq::connect, app::make_compute, app::make_virtual_clock});
}

int finish(const base::Result<void>& done) {
  if (done) base::log_info("finished without errors");
  return done ? 0 : exit_code(done.error());
}

struct RankArguments {
  int rank = 0;
  std::string endpoint;
  int parent = 0;
  bool is_virtual = false;
  app::Inherited inherited;
  std::string address;
};

session::RankServices services_of(const RankArguments& arguments, const app::Listening& listening) {
  session::RankServices services;
  services.connect = zmq::connect;
  services.make_compute = app::make_compute;
  services.drawn_op_times = app::drawn_op_times;
  services.make_data_plane = [&arguments, listening](const session::DataPlaneRequest& request) {
    return app::make_data_plane(request, arguments.inherited, listening);
  };
  services.make_engine = app::make_engine;
  return services;
}

int run_rank(const RankArguments& arguments) {
  if (!end_with_parent(arguments.parent)) return not_a_child(arguments.parent);
  base::raise_descriptor_limit();
  // Ignores these signals, so that a failed write returns an error instead of ending the process.
  for (const int signal : {SIGPIPE, SIGXFSZ}) ::signal(signal, SIG_IGN);
  if (arguments.is_virtual) return finish(run_virtual(arguments.rank + 1, arguments.endpoint));
  session::RankIdentity identity{arguments.rank, "", arguments.endpoint};
  std::getline(std::cin, identity.token);
  // Only with an address: the keys of the run.
  app::Listening listening{socket_directory(arguments.endpoint), arguments.address, {}};
  std::getline(std::cin, listening.keys.public_key);
  std::getline(std::cin, listening.keys.secret_key);
  base::set_log_name("rank " + std::to_string(identity.rank));
  // Logs the process id at the start, because a process that is killed cannot log it later.
  base::log_info("process " + std::to_string(::getpid()) + ", software " TRAINYARD_VERSION);
  return finish(session::run_rank(identity, services_of(arguments, listening)));
}

}  // namespace

int main(int argc, char** argv) {
  app::Program program(
      "trainyard-rank",
      "One rank of a Trainyard run. trainyard-cli starts it; do not start it by hand.",
      TRAINYARD_VERSION);
  app::Verb verb = program.verb();
  RankArguments& arguments = verb.on_run(run_rank);
  verb.option("--rank", arguments.rank, "Number of this rank").required();
  verb.flag("--virtual", arguments.is_virtual,
            "Run all ranks up to --rank in this process, on the virtual clock");
  verb.option("--endpoint", arguments.endpoint, "Control endpoint of the coordinator").required();
  verb.option("--parent", arguments.parent, "Process ID of the coordinator").required();
  verb.option("--address", arguments.address,
              "Address at which this rank listens for peers on other machines");
  verb.option("--shared-memory", arguments.inherited.shared_memory,
              "File descriptor of the shared memory");
  verb.option("--shaped-links", arguments.inherited.shaped_links,
              "File descriptor of the imposed links");
  const auto ran = program.run(argc, argv);
  if (!ran) std::cerr << "error: " << base::to_string(ran.error()) << "\n";
  return ran ? *ran : exit_code(ran.error());
}
