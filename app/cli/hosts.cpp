// SPDX-License-Identifier: GPL-3.0-or-later
// hosts: adds, lists, removes and checks the other machines on which ranks run.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "app/add_machine.h"
#include "app/cli/interrupts.h"
#include "app/cli/verbs.h"
#include "app/preflight.h"
#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/base/units.h"
#include "core/session/coordinator/run_result.h"
#include "core/session/hosts/listener_messages.h"
#include "core/session/system/shared_files.h"

namespace trainyard::cli {
namespace {

struct HostAddArguments {
  std::string destination, fingerprint;
  bool yes = false, ask = false, json = false;
};

struct HostListArguments {
  bool json = false;
};

struct HostRemoveArguments {
  std::string destination;
  bool json = false;
};

bool can_ask() { return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1; }

// Reads an answer from standard input.
bool is_answered_yes() {
  std::string answer;
  return std::getline(std::cin, answer) && (answer == "y" || answer == "Y" || answer == "yes");
}

bool is_confirmed(const std::string& question) {
  if (!can_ask()) return false;
  std::fprintf(stderr, "%s [y/N] ", question.c_str());
  return is_answered_yes();
}

// Asks another program: the question is a line of JSON on standard output.
bool is_confirmed_by_program(const char* subject, base::Json question) {
  question["type"] = "question", question["subject"] = subject;
  print_json(question);
  std::fflush(stdout);
  return is_answered_yes();
}

bool trusts(const HostAddArguments& arguments, const ssh::HostKey& key) {
  if (arguments.ask)
    return is_confirmed_by_program("host_key",
                                   {{"fingerprint", key.fingerprint}, {"kind", key.kind}});
  std::fprintf(stderr, "host key of %s: %s (%s)\n", arguments.destination.c_str(),
               base::printable_line(key.fingerprint).c_str(),
               base::printable_line(key.kind).c_str());
  if (!arguments.fingerprint.empty()) return arguments.fingerprint == key.fingerprint;
  return is_confirmed("Compare it with the fingerprint on the host. Is it the same?");
}

// Shows how much of the agent was copied, once for each percent.
class CopyProgress {
 public:
  explicit CopyProgress(bool as_json) : as_json_(as_json) {}

  bool show(std::uint64_t sent, std::uint64_t total) {
    const int percent = total > 0 ? static_cast<int>(100 * sent / total) : 0;
    if (percent != shown_ && as_json_) {
      print_json({{"type", "progress"}, {"sent_bytes", sent}, {"total_bytes", total}});
      std::fflush(stdout);
    } else if (percent != shown_ && ::isatty(STDERR_FILENO) == 1) {
      std::fprintf(stderr, "\r\033[Kcopying the agent: %d %%%s", percent,
                   percent == 100 ? "\n" : "");
      std::fflush(stderr);
    }
    shown_ = percent;
    return interrupts() == 0;
  }

 private:
  bool as_json_;
  int shown_ = -1;
};

bool copies(const HostAddArguments& arguments, const ssh::AgentBundle& bundle) {
  std::error_code ignored;
  const auto bytes = static_cast<double>(std::filesystem::file_size(bundle.archive, ignored));
  const std::string copy =
      fmt::format("trainyard-agent {} ({}) to ~/.cache/trainyard/agents of {}", bundle.name,
                  base::format_bytes(bytes), arguments.destination);
  if (arguments.ask && !arguments.yes)
    return is_confirmed_by_program("agent", {{"name", bundle.name}, {"bytes", bytes}});
  if (!arguments.yes) return is_confirmed(fmt::format("Copy {}?", copy));
  std::fprintf(stderr, "copying %s\n", copy.c_str());
  return true;
}

// Tells how to answer questions that this process cannot ask.
base::Problem with_options(base::Problem problem, const HostAddArguments& arguments) {
  if (problem.id == "canceled" && interrupts() == 0 && !can_ask() && !arguments.ask)
    return {"not_confirmed",
            base::ProblemCode::refused,
            problem.where,
            "the host key or the copy of the agent was not confirmed",
            "",
            "Run the command in a terminal, or give --fingerprint with the fingerprint of the host "
            "key, and --yes to copy the agent."};
  return problem;
}

base::Json json_of_machine(const session::Machine& machine) {
  return {{"destination", machine.destination},   {"host", machine.host},
          {"architecture", machine.architecture}, {"cores", machine.cores},
          {"memory_bytes", machine.memory_bytes}, {"addresses", machine.addresses}};
}

std::string line_of_machine(const session::Machine& machine) {
  return base::printable_line(
      fmt::format("{}  {}, {}, {}, {}", machine.destination, machine.host, machine.architecture,
                  machine.cores == 1 ? "1 core" : fmt::format("{} cores", machine.cores),
                  base::format_bytes(static_cast<double>(machine.memory_bytes))));
}

int run_hosts_add(const HostAddArguments& arguments) {
  catch_signals();
  const bool json = arguments.json || arguments.ask;
  app::AddQuestions questions;
  questions.trusts_key = [&](const ssh::HostKey& key) { return trusts(arguments, key); };
  questions.copies_agent = [&](const ssh::AgentBundle& bundle) {
    return copies(arguments, bundle);
  };
  CopyProgress progress(arguments.ask);
  questions.progress = [&](std::uint64_t sent, std::uint64_t total) {
    return progress.show(sent, total);
  };
  const auto machine = app::add_machine(arguments.destination, questions);
  if (!machine) return complain({with_options(machine.error(), arguments)}, json);
  if (json) {
    base::Json line = json_of_machine(*machine);
    line["type"] = "result", line["status"] = "completed";
    print_json(line);
  } else {
    std::printf("added %s\nSet topology.hosts[N].address to \"%s\" to run ranks there.\n",
                line_of_machine(*machine).c_str(), machine->destination.c_str());
  }
  return 0;
}

base::Json json_of_joined(const session::JoinedState& machine) {
  return {{"destination", fmt::format("{}{}", session::kJoinedPrefix, machine.name)},
          {"host", machine.name},
          {"architecture", machine.architecture},
          {"cores", machine.cores},
          {"memory_bytes", machine.memory_bytes},
          {"addresses", base::Json::array({machine.address})},
          {"joined", true},
          {"seconds", machine.seconds},
          {"silent_seconds", machine.silent_seconds}};
}

std::string line_of_joined(const session::JoinedState& machine) {
  constexpr double kMinute = 60, kSilent = 3;
  std::string line = fmt::format(
      "{}{}  from {}, {}, {}, {}, for {:.0f} min more", session::kJoinedPrefix, machine.name,
      machine.address, machine.architecture, base::counted(machine.cores, "core"),
      base::format_bytes(static_cast<double>(machine.memory_bytes)), machine.seconds / kMinute);
  if (machine.silent_seconds > kSilent)
    line += fmt::format(", no contact for {:.0f} s", machine.silent_seconds);
  return base::printable_line(line);
}

// Prints the machines and invitations of the listener, if there is one. Returns true if it printed
// any.
bool list_joined(bool json) {
  const auto answer = session::ask_listener(session::ListJoined{});
  const auto* state = answer ? std::get_if<session::ListenerState>(&*answer) : nullptr;
  if (state == nullptr) return false;
  for (const session::JoinedState& machine : state->machines) {
    base::Json line = json_of_joined(machine);
    line["type"] = "host";
    if (json) print_json(line);
    else std::printf("%s\n", line_of_joined(machine).c_str());
  }
  for (const session::Invited& one : state->invitations) {
    if (json)
      print_json({{"type", "invitation"},
                  {"invitation", one.invitation},
                  {"machines", one.machines},
                  {"seconds", one.seconds}});
    else
      std::printf("invitation %s  for %s, expires in %.0f min\n", one.invitation.c_str(),
                  base::counted(one.machines, "machine").c_str(), one.seconds / 60);
  }
  return !state->machines.empty() || !state->invitations.empty();
}

int run_hosts_list(const HostListArguments& arguments) {
  const auto machines = session::read_machine_list();
  if (!machines) return complain({machines.error()}, arguments.json);
  const bool any_joined = list_joined(arguments.json);
  for (const session::Machine& machine : *machines) {
    if (arguments.json) {
      base::Json line = json_of_machine(machine);
      line["type"] = "host";
      print_json(line);
    } else {
      std::printf("%s\n", line_of_machine(machine).c_str());
    }
  }
  if (arguments.json) print_json({{"type", "result"}, {"status", "completed"}});
  else if (machines->empty() && !any_joined)
    std::printf("no machines yet: trainyard-cli hosts add [USER@]HOST adds one\n");
  return 0;
}

int remove_joined(const HostRemoveArguments& arguments) {
  const std::string name = arguments.destination.substr(session::kJoinedPrefix.size());
  const auto removed = session::ask_listener(session::RemoveJoined{name});
  if (!removed) return complain({removed.error()}, arguments.json);
  if (arguments.json) print_json({{"type", "result"}, {"status", "completed"}});
  else std::printf("removed %s; its trainyard-agent ended\n", arguments.destination.c_str());
  return 0;
}

int run_hosts_remove(const HostRemoveArguments& arguments) {
  if (arguments.destination.starts_with(session::kJoinedPrefix)) return remove_joined(arguments);
  const auto removed = session::remove_from_list(arguments.destination);
  if (!removed) return complain({removed.error()}, arguments.json);
  if (!*removed)
    return complain(
        {{"unknown_machine", base::ProblemCode::bad_input, arguments.destination,
          "the list has no such machine", "", "Run trainyard-cli hosts list, which prints all."}},
        arguments.json);
  if (arguments.json) print_json({{"type", "result"}, {"status", "completed"}});
  else
    std::printf("removed %s; its copies of the agent remain in ~/.cache/trainyard/agents there\n",
                arguments.destination.c_str());
  return 0;
}

// Returns the size of the data files of the experiment; 0 for generated data. Missing files are
// problems of validate.
std::int64_t bytes_of_files(const experiment::Experiment& experiment,
                            const std::filesystem::path& directory) {
  const experiment::Experiment located = experiment::located(experiment, directory);
  std::int64_t bytes = 0;
  for (const std::string& path : session::data_paths(located.data)) {
    std::error_code error;
    const auto size = std::filesystem::file_size(path, error);
    if (!error) bytes += static_cast<std::int64_t>(size);
  }
  return bytes;
}

base::Json json_of_check(const app::CheckRow& row) {
  base::Json json{{"type", "check"},
                  {"host", row.host},
                  {"check", row.check},
                  {"passed", !row.problem.has_value()},
                  {"text", row.text}};
  if (row.problem) json["problem"] = session::to_json(*row.problem);
  if (row.measured) {
    json["latency_seconds"] = row.measured->latency_seconds;
    json["bandwidth_bits_per_second"] = row.measured->bandwidth_bits_per_second;
  }
  return json;
}

// Returns the width of the longest name of a row: "HOST -> HOST".
int host_width(const experiment::Experiment& experiment) {
  std::size_t longest = 0;
  for (const topology::Host& host : experiment.topology.hosts)
    longest = std::max(longest, host.name.size());
  return static_cast<int>(2 * longest + std::string_view(" -> ").size());
}

int run_hosts_check(const ExperimentArguments& arguments) {
  const auto experiment = load(arguments);
  if (!experiment) return complain(experiment.error(), arguments.json);
  const auto directory = arguments.directory();
  if (!directory) return complain({directory.error()}, arguments.json);
  base::Problems problems;
  bool any = false;
  const int width = host_width(*experiment);
  app::check_machines(*experiment, bytes_of_files(*experiment, *directory),
                      [&](const app::CheckRow& row) {
                        any = true;
                        if (row.problem) problems.push_back(*row.problem);
                        if (arguments.json) print_json(json_of_check(row));
                        else
                          std::printf("%-6s  %-*s  %-10s  %s\n", row.problem ? "FAILED" : "ok",
                                      width, base::printable_line(row.host).c_str(),
                                      row.check.c_str(), base::printable_line(row.text).c_str());
                        std::fflush(stdout);
                      });
  if (!problems.empty()) return complain(problems, arguments.json);
  if (arguments.json) print_json({{"type", "result"}, {"status", "completed"}});
  else if (!any) std::printf("all hosts of the experiment are this machine\n");
  return 0;
}

}  // namespace

void add_hosts(Verb& program) {
  Verb hosts =
      program.add_verb("hosts", "Other machines: add or invite, list, check and remove them");
  hosts.require_verb();
  hosts.examples(
      "Examples:\n"
      "  trainyard-cli hosts add me@node1\n"
      "  trainyard-cli hosts list\n"
      "  trainyard-cli hosts listen --machines 30\n"
      "  trainyard-cli hosts check experiment.json");

  Verb add = hosts.add_verb(
      "add", "Make a machine ready for runs: trust its host key, copy the agent, list its devices");
  HostAddArguments& adds = add.on_run(run_hosts_add);
  add.option("destination", adds.destination, "[USER@]HOST, as ssh accepts it").required();
  add.option("--fingerprint", adds.fingerprint,
             "Trust the host key with this fingerprint (SHA256:...) without a question");
  add.flag("--yes", adds.yes, "Copy the agent without a question");
  add.flag(
      "--ask", adds.ask,
      "For programs: print questions and progress as JSON, and read the answers (yes, no) from "
      "standard input");
  add.json_flag(adds.json);

  Verb list = hosts.add_verb("list", "Print the machines that were added, and those that joined");
  list.json_flag(list.on_run(run_hosts_list).json);

  add_hosts_listen(hosts);

  Verb remove = hosts.add_verb("remove", "Remove a machine from the list");
  HostRemoveArguments& removes = remove.on_run(run_hosts_remove);
  remove.option("destination", removes.destination, "As it was added, or joined:NAME").required();
  remove.json_flag(removes.json);

  Verb check = hosts.add_verb("check", "Compare the machines of an experiment with the drawing");
  check.on_run(run_hosts_check).add_to(check);
}

}  // namespace trainyard::cli
