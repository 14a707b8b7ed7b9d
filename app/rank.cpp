// SPDX-License-Identifier: GPL-3.0-or-later
// trainyard-rank: the process of one rank, which stands for one drawn device. The coordinator
// starts it and passes a token on standard input.
#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <filesystem>
#include <iostream>

#include "app/data_plane.h"
#include "app/devices.h"
#include "app/drawn_times.h"
#include "app/engine.h"
#include "app/virtual_clock.h"
#include "backends/zmq/control.h"
#include "core/base/log.h"
#include "core/session/rank/virtual_ranks.h"

namespace {

using namespace trainyard;

// Makes this process end with its parent, even if the parent is killed. Returns false if the parent
// has ended already.
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
  if (done) base::log_info("ended in order");
  return done ? 0 : exit_code(done.error());
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App program{"One rank of a Trainyard run. trainyard-cli starts it; do not start it by hand.",
                   "trainyard-rank"};
  session::RankIdentity identity;
  app::Inherited inherited;
  pid_t parent = 0;
  bool all = false;
  program.add_option("--rank", identity.rank, "Number of this rank")->required();
  program.add_flag("--virtual", all,
                   "Run all ranks up to --rank in this process, on the virtual clock");
  program.add_option("--endpoint", identity.endpoint, "Control endpoint of the coordinator")
      ->required();
  program.add_option("--parent", parent, "Process ID of the coordinator")->required();
  program.add_option("--shared-memory", inherited.shared_memory,
                     "File descriptor of the shared memory");
  program.add_option("--shaped-links", inherited.shaped_links,
                     "File descriptor of the imposed links");
  CLI11_PARSE(program, argc, argv);
  if (!end_with_parent(parent)) return not_a_child(parent);
  // ignored, so that a failed write is an error to report instead of ending the process
  for (const int signal : {SIGPIPE, SIGXFSZ}) ::signal(signal, SIG_IGN);
  if (all) return finish(run_virtual(identity.rank + 1, identity.endpoint));
  std::getline(std::cin, identity.token);
  base::set_log_name("rank " + std::to_string(identity.rank));

  session::RankServices services;
  services.connect = zmq::connect;
  services.make_compute = app::make_compute;
  services.drawn_op_times = app::drawn_op_times;
  services.make_data_plane = [&](const session::DataPlaneRequest& request) {
    return app::make_data_plane(request, inherited, socket_directory(identity.endpoint));
  };
  services.make_engine = app::make_engine;
  // logged at the start, because a killed process cannot log it
  base::log_info("process " + std::to_string(::getpid()) + ", software " TRAINYARD_VERSION);
  return finish(session::run_rank(identity, services));
}
