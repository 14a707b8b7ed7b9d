// SPDX-License-Identifier: GPL-3.0-or-later
// hosts listen, withdraw: the listener, which other machines join by invitation.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <thread>

#include "app/cli/interrupts.h"
#include "app/cli/qr_code.h"
#include "app/cli/verbs.h"
#include "app/network_address.h"
#include "app/paths.h"
#include "backends/zmq/join_listener.h"
#include "core/base/descriptor.h"
#include "core/base/descriptor_limit.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/printable.h"
#include "core/base/units.h"
#include "core/session/hosts/invitation.h"
#include "core/session/hosts/listener_messages.h"
#include "core/session/system/process.h"

namespace trainyard::cli {
namespace {

using base::Problem;
using base::ProblemCode;
using base::Result;

struct ListenArguments {
  std::string address, file;
  int port = session::kListenerPort, machines = 1, hours = 1;
  bool stop = false, foreground = false, qr = false, json = false;
};

struct WithdrawArguments {
  std::string code;
  bool json = false;
};

constexpr std::chrono::seconds kStartLimit{10};
constexpr std::chrono::milliseconds kLook{20};

// Returns the address that the user chose, else the only one of this machine. Several are a choice
// for the user, because the listener is reachable by all machines of that network.
Result<std::string> chosen_address(const std::string& chosen) {
  const std::vector<std::string> own = app::own_addresses();
  std::string list;
  for (const std::string& address : own) list += (list.empty() ? "" : ", ") + address;
  const bool is_loopback = chosen == "127.0.0.1" || chosen == "::1";
  if (!chosen.empty() && !is_loopback && std::ranges::find(own, chosen) == own.end())
    return base::fail(Problem{"bad_address", ProblemCode::bad_usage, "--address",
                              fmt::format("\"{}\" is not an address of this machine", chosen), list,
                              "Name the address that the other machines reach."});
  if (!chosen.empty()) return chosen;
  if (own.size() == 1) return own.front();
  return base::fail(
      Problem{"address_missing", ProblemCode::bad_usage, "--address",
              own.empty() ? std::string("this machine has no network address")
                          : fmt::format("this machine has several network addresses: {}", list),
              "", "Name the address that the other machines reach: --address ADDRESS."});
}

// Serves in this process.
int serve(const ListenArguments& arguments) {
  catch_signals();
  base::set_log_name("listener");
  base::raise_descriptor_limit();
  const auto directory = session::listener_directory();
  if (!directory) return complain({directory.error()}, arguments.json);
  utsname system{};
  ::uname(&system);
  const auto served = zmq::run_listener({.address = arguments.address,
                                         .port = arguments.port,
                                         .name = system.nodename,
                                         .directory = *directory,
                                         .is_canceled = [] { return interrupts() > 0; }});
  return served ? 0 : complain({served.error()}, true);
}

// Returns the problem that a listener printed as its last line, before it ended.
Problem problem_of_ended(const std::filesystem::path& log) {
  const auto text = base::read_file(log, std::size_t{1} << 20);
  Problem problem{"listener_ended",
                  ProblemCode::failed,
                  "listener",
                  "the listener ended",
                  "",
                  fmt::format("Read {}.", log.string())};
  if (!text) return problem;
  const std::size_t begin = text->rfind("\n{", text->size() > 1 ? text->size() - 2 : 0);
  const auto json = base::parse_json(begin == std::string::npos ? *text : text->substr(begin), "");
  if (!json || !json->contains("problems") || (*json)["problems"].empty()) return problem;
  const base::Json& first = (*json)["problems"].front();
  problem.id = first.value("id", problem.id);
  problem.where = first.value("where", problem.where);
  problem.what = first.value("what", problem.what);
  problem.advice = first.value("advice", problem.advice);
  return problem;
}

// Starts a listener that outlives this process, and waits until it answers.
Result<void> start_listener(const ListenArguments& arguments) {
  const auto address = chosen_address(arguments.address);
  if (!address) return base::fail(address.error());
  const auto directory = session::listener_directory();
  if (!directory) return base::fail(directory.error());
  const std::filesystem::path log = *directory / session::kListenerLog;
  std::error_code ignored;
  std::filesystem::remove(log, ignored);
  session::ProcessOptions options;
  options.program = (app::program_directory() / "trainyard-cli").string();
  options.arguments = {"hosts",     "listen", "--foreground", "--json",
                       "--address", *address, "--port",       std::to_string(arguments.port)};
  options.log_file = log.string();
  options.new_session = true;
  auto process = session::Process::start(options);
  if (!process) return base::fail(process.error());
  const auto until = std::chrono::steady_clock::now() + kStartLimit;
  while (std::chrono::steady_clock::now() < until) {
    if (session::ask_listener(session::ListJoined{})) {
      process->release();
      return {};
    }
    if (process->ended()) return base::fail(problem_of_ended(log));
    std::this_thread::sleep_for(kLook);
  }
  return base::fail(Problem{"listener_unresponsive", ProblemCode::failed, "listener",
                            "the listener did not start within 10 s", "",
                            fmt::format("Read {}.", log.string())});
}

// Writes a file that only this user can read.
Result<void> write_invitation(const std::string& invitation, const std::string& path) {
  const base::Descriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  const std::string line = invitation + "\n";
  if (!file.is_open() || ::fchmod(file.get(), 0600) != 0 ||
      ::write(file.get(), line.data(), line.size()) != std::ssize(line))
    return base::fail(base::system_problem(path, "cannot write the invitation", errno));
  return {};
}

void print_invitation(const session::Invited& invited, const ListenArguments& arguments) {
  const std::vector<std::string> modules = qr_code(invited.invitation);
  if (arguments.json)
    return print_json({{"type", "result"},
                       {"status", "completed"},
                       {"invitation", invited.invitation},
                       {"machines", invited.machines},
                       {"seconds", invited.seconds},
                       {"qr_code", modules}});
  if (arguments.qr) std::printf("%s", terminal_text_of(modules).c_str());
  std::printf(
      "Run this on %s within %s:\n\n  trainyard-agent join %s\n\n"
      "To list the machines that joined: trainyard-cli hosts list\n",
      invited.machines == 1 ? "the other machine"
                            : fmt::format("up to {} machines", invited.machines).c_str(),
      base::counted(arguments.hours, "hour").c_str(), invited.invitation.c_str());
}

// Without a listener, there is nothing to stop or to withdraw.
Problem without_advice(Problem problem) {
  if (problem.id == "no_listener") problem.advice.clear();
  return problem;
}

int stop(bool json) {
  const auto stopped = session::ask_listener(session::StopListener{});
  if (!stopped) return complain({without_advice(stopped.error())}, json);
  if (json) print_json({{"type", "result"}, {"status", "completed"}});
  else std::printf("the listener ended, and all joined machines left\n");
  return 0;
}

// Fails if the running listener has another address or port than those that the user named.
Result<void> expect_wished(const session::ListenerAnswer& answer,
                           const ListenArguments& arguments) {
  const auto* state = std::get_if<session::ListenerState>(&answer);
  if (state == nullptr) return {};
  const std::size_t colon = state->address.rfind(':');
  std::string address = state->address.substr(0, colon);
  if (address.starts_with('[')) address = address.substr(1, address.size() - 2);
  const bool has_port = arguments.port == session::kListenerPort ||
                        std::to_string(arguments.port) == state->address.substr(colon + 1);
  if (has_port && (arguments.address.empty() || arguments.address == address)) return {};
  return base::fail(
      Problem{"listener_runs", ProblemCode::refused, "listener",
              fmt::format("a listener of this user runs already, at {}", state->address), "",
              "Omit --address and --port to use it, or end it first: trainyard-cli "
              "hosts listen --stop."});
}

int run_hosts_listen(const ListenArguments& arguments) {
  if (arguments.foreground) return serve(arguments);
  if (arguments.stop) return stop(arguments.json);
  const auto running = session::ask_listener(session::ListJoined{});
  const auto ready = running ? expect_wished(*running, arguments) : start_listener(arguments);
  if (!ready) return complain({ready.error()}, arguments.json);
  constexpr double kHour = 3600;
  const auto answer =
      session::ask_listener(session::InviteMachines{arguments.machines, arguments.hours * kHour});
  if (!answer) return complain({answer.error()}, arguments.json);
  const auto* invited = std::get_if<session::Invited>(&*answer);
  if (invited == nullptr) return 0;
  if (!arguments.file.empty())
    if (auto written = write_invitation(invited->invitation, arguments.file); !written)
      return complain({written.error()}, arguments.json);
  print_invitation(*invited, arguments);
  return 0;
}

int run_hosts_withdraw(const WithdrawArguments& arguments) {
  const auto code =
      session::invitation_code_from(arguments.code.substr(arguments.code.rfind('/') + 1));
  if (!code) return complain({code.error()}, arguments.json);
  const auto withdrawn =
      session::ask_listener(session::WithdrawInvitation{session::to_text(*code)});
  if (!withdrawn) return complain({without_advice(withdrawn.error())}, arguments.json);
  if (arguments.json) print_json({{"type", "result"}, {"status", "completed"}});
  else std::printf("withdrawn: no machine can join by this invitation any more\n");
  return 0;
}

}  // namespace

void add_hosts_listen(Verb& hosts) {
  constexpr int kMostMachines = 1000, kMostHours = 24 * 365;
  Verb listen = hosts.add_verb("listen", "Invite machines that ssh cannot reach to join this one");
  ListenArguments& listens = listen.on_run(run_hosts_listen);
  listen.option("--address", listens.address,
                "Address of this machine at which it listens; default: the only one");
  listen.option("--port", listens.port, "Port; 0: any; default: 29700").range(0, 65'535);
  listen.option("--machines", listens.machines, "Machines that the invitation admits; default: 1")
      .range(1, kMostMachines);
  listen.option("--hours", listens.hours, "Hours until the invitation expires; default: 1")
      .range(1, kMostHours);
  listen
      .option("--file", listens.file,
              "Also write the invitation to a file, for trainyard-agent from-environment")
      .type_name("FILE");
  listen.flag("--qr", listens.qr, "Also print the invitation as a QR code");
  listen.flag("--stop", listens.stop, "End the listener; all machines leave");
  listen.flag("--foreground", listens.foreground,
              "Listen in this process, without an invitation (for systemd)");
  listen.json_flag(listens.json);

  Verb withdraw = hosts.add_verb("withdraw", "Withdraw an invitation");
  WithdrawArguments& withdraws = withdraw.on_run(run_hosts_withdraw);
  withdraw.option("code", withdraws.code, "The invitation, or its code").required();
  withdraw.json_flag(withdraws.json);
}

}  // namespace trainyard::cli
