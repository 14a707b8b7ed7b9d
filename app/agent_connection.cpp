// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/agent_connection.h"

#include <fmt/core.h>

#include "app/paths.h"
#include "backends/ssh/agent_bundle.h"
#include "backends/ssh/explain.h"
#include "backends/ssh/ssh.h"
#include "core/base/file.h"

namespace trainyard::app {
namespace {

constexpr double kConnectSeconds = 30;
constexpr std::size_t kLogBytes = std::size_t{1} << 20;

// Replaces the problem by the one that ssh printed, or adds its last line.
base::Problem explained(base::Problem problem, const AgentWish& wish) {
  const auto log = base::read_file(wish.log_file, kLogBytes);
  const std::string printed = log ? *log : "";
  if (auto known = ssh::explain(wish.destination, printed)) {
    known->where = wish.name;
    return std::move(*known);
  }
  if (const std::string last = ssh::last_line(printed); !last.empty())
    problem.what += fmt::format("; ssh printed: {}", last);
  if (problem.advice.empty())
    problem.advice = fmt::format("Try the connection with ssh {}.", wish.destination);
  return problem;
}

base::Problem other_agent(const AgentWish& wish, const session::AgentHello& hello) {
  return {
      "other_agent",
      base::ProblemCode::refused,
      wish.name,
      fmt::format("the agent of the host is another build of Trainyard: version {}, hash {}",
                  hello.software, hello.hash),
      fmt::format("version {}, hash {}", TRAINYARD_VERSION, ssh::agent_hash(program_directory())),
      fmt::format("Run trainyard-cli hosts add {}, which copies this one. Others are kept.",
                  wish.destination)};
}

}  // namespace

base::Result<AgentConnection> connect_agent(const AgentWish& wish) {
  const std::filesystem::path bin = program_directory();
  const std::string hash = ssh::agent_hash(bin);
  auto connection = ssh::connect(
      {wish.destination,
       ssh::agent_command(fmt::format("{}-{}", TRAINYARD_VERSION, hash), bin / "trainyard-agent"),
       wish.log_file.string()});
  if (!connection) return base::fail(connection.error());
  AgentConnection made;
  made.ssh.emplace(std::move(connection->process));
  auto host = session::RemoteHost::connect({.name = wish.name,
                                            .stream = std::move(connection->stream),
                                            .relay_to_coordinator = wish.relay_to_coordinator,
                                            .log = wish.log,
                                            .is_canceled = wish.is_canceled},
                                           kConnectSeconds);
  if (!host) return base::fail(explained(host.error(), wish));
  made.host = std::move(*host);
  const session::AgentHello& hello = made.host->hello();
  if (hello.software != TRAINYARD_VERSION || hello.hash != hash)
    return base::fail(other_agent(wish, hello));
  return made;
}

}  // namespace trainyard::app
