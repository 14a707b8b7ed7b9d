// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/agent_join.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "app/join.h"
#include "core/base/descriptor_limit.h"
#include "core/base/file.h"
#include "core/base/machine.h"
#include "core/base/printable.h"
#include "core/base/units.h"
#include "core/session/hosts/tcp.h"

namespace trainyard::app {
namespace {

struct JoinArguments {
  std::string invitation, name;
  int cores = 0, hours = 8;
  std::int64_t memory = 0;
  bool yes = false, as_root = false;
};

struct LauncherArguments {
  std::string invitation_file;
  bool as_root = false;
};

constexpr int kMostHours = 24 * 365;

volatile std::sig_atomic_t canceled = 0;

bool consents_at_terminal(const session::Invitation& invitation, const JoinOffer& offer, bool yes) {
  std::fprintf(stderr,
               "%s can then start training processes of Trainyard on this machine:\n"
               "  name      %s\n  cores     %lld\n  memory    %s for each process\n"
               "  duration  %.0f h\n",
               session::place_of(invitation.host, invitation.port).c_str(), offer.name.c_str(),
               static_cast<long long>(offer.cores),
               base::format_bytes(static_cast<double>(offer.memory_bytes)).c_str(), offer.hours);
  if (yes) return true;
  if (::isatty(STDIN_FILENO) == 0) return false;
  std::fprintf(stderr, "Do you agree? [y/N] ");
  std::string answer;
  return std::getline(std::cin, answer) && (answer == "y" || answer == "Y" || answer == "yes");
}

int run_join(const JoinArguments& arguments) {
  const auto invitation = session::invitation_from(arguments.invitation);
  if (!invitation) return fail_with(invitation.error(), 2);
  if (const int refused = refuse_root(arguments.as_root); refused != 0) return refused;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, [](int) { canceled = 1; });
  for (const int signal : {SIGPIPE, SIGXFSZ}) ::signal(signal, SIG_IGN);
  base::raise_descriptor_limit();
  JoinOptions options;
  options.invitation = *invitation;
  options.as_root = arguments.as_root;
  options.offer.name = arguments.name.empty() ? host_name() : arguments.name;
  options.offer.cores = base::usable_cores();
  if (arguments.cores > 0)
    options.offer.cores = std::min<std::int64_t>(options.offer.cores, arguments.cores);
  options.offer.memory_bytes = base::usable_memory();
  if (arguments.memory > 0)
    options.offer.memory_bytes = std::min(options.offer.memory_bytes, arguments.memory);
  options.offer.hours = arguments.hours;
  options.consents = [&](const JoinOffer& offer) {
    return consents_at_terminal(*invitation, offer, arguments.yes);
  };
  options.report = [](const std::string& text) {
    std::fprintf(stderr, "%s\n", base::printable_line(text).c_str());
  };
  options.is_canceled = [] { return canceled != 0; };
  const auto joined = join_listener(options);
  if (joined) return 0;
  if (joined.error().code == base::ProblemCode::canceled) return 130;
  return fail_with(joined.error(), joined.error().code == base::ProblemCode::refused ? 4 : 3);
}

// Returns the value of the first variable that is set; empty if none is.
std::string first_of(std::initializer_list<const char*> variables) {
  for (const char* name : variables)
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return value;
  return "";
}

// Joins by the invitation in a file, as one of the processes that a launcher starts. Sources of the
// variables: torchrun; mpirun of Open MPI and of MPICH; srun.
int run_from_environment(const LauncherArguments& arguments) {
  const std::string rank = first_of({"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}),
                    local = first_of({"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                      "SLURM_LOCALID"});
  if (rank.empty())
    return fail_with(
        {"no_launcher", base::ProblemCode::bad_usage, "trainyard-agent from-environment",
         "no launcher started this process: RANK is not set",
         "a process of torchrun, mpirun or srun",
         "Start it with a launcher, or use trainyard-agent join."},
        2);
  if (!local.empty() && local != "0") {
    std::fprintf(stderr, "local rank %s ends: one agent serves all ranks of a machine\n",
                 base::printable_line(local).c_str());
    return 0;
  }
  constexpr std::size_t kMostBytes = 4096;
  const auto text = base::read_file(arguments.invitation_file, kMostBytes);
  if (!text) return fail_with(text.error(), 2);
  JoinArguments join;
  join.invitation = text->substr(0, text->find_first_of("\r\n"));
  join.hours = kMostHours;  // the launcher ends it
  join.yes = true;
  join.as_root = arguments.as_root;
  return run_join(join);
}

void add_join(Verb program) {
  Verb join =
      program.add_verb("join", "Let the machine of an invitation start ranks here, until Ctrl-C");
  JoinArguments& joins = join.on_run(run_join);
  join.option("invitation", joins.invitation, "HOST:PORT/CODE, from trainyard-cli hosts listen")
      .required();
  join.option("--name", joins.name, "Name of this machine for the other one; default: host name");
  join.option("--cores", joins.cores, "Cores that ranks may use; default: all").range(1, 1'000'000);
  join.option("--memory", joins.memory, "Memory of each process, in bytes; default: all");
  join.option("--hours", joins.hours, "Duration; default: 8").range(1, kMostHours);
  join.flag("--yes", joins.yes, "Agree without a question");
  join.flag("--as-root", joins.as_root, "Run although the user is root");
  join.examples(
      "Examples:\n"
      "  trainyard-agent join 192.0.2.7:29700/4J2K-9QTX-0A7B-M3PD-W8ZC-E5RY --hours 2");
}

void add_from_environment(Verb program) {
  Verb launched = program.add_verb(
      "from-environment", "Join as a process of torchrun, mpirun or srun: one agent per machine");
  LauncherArguments& launches = launched.on_run(run_from_environment);
  launched
      .option("--invitation", launches.invitation_file,
              "File with the invitation, from trainyard-cli hosts listen --file")
      .type_name("FILE")
      .required();
  launched.flag("--as-root", launches.as_root, "Run although the user is root");
}

}  // namespace

std::string host_name() {
  utsname system{};
  ::uname(&system);
  return system.nodename;
}

int fail_with(const base::Problem& problem, int exit_code) {
  std::cerr << "error: " << base::to_string(problem) << "\n";
  return exit_code;
}

int refuse_root(bool as_root) {
  if (::geteuid() != 0 || as_root) return 0;
  return fail_with({"agent_is_root", base::ProblemCode::refused, "trainyard-agent",
                    "the agent does not run as root, because ranks need no rights of the system",
                    "another user, or --as-root", "Use another user, or give --as-root."},
                   4);
}

void add_join_verbs(const Verb& program) {
  add_join(program);
  add_from_environment(program);
}

}  // namespace trainyard::app
