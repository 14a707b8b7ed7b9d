// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/agent_connection.h"

#include <fcntl.h>
#include <fmt/core.h>

#include "app/paths.h"
#include "backends/ssh/agent_bundle.h"
#include "backends/ssh/explain.h"
#include "backends/ssh/ssh.h"
#include "core/base/file.h"
#include "core/session/hosts/listener_messages.h"

namespace trainyard::app {
namespace {

constexpr double kConnectSeconds = 30;
constexpr std::size_t kLogBytes = std::size_t{1} << 20;

bool is_joined(const AgentWish& wish) {
  return wish.destination.starts_with(session::kJoinedPrefix);
}

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
    problem.advice =
        fmt::format("Try the connection with ssh {}, or correct the address.", wish.destination);
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
      is_joined(wish)
          ? std::string("Install the same build there, and join again.")
          : fmt::format("Run trainyard-cli hosts add {}, which copies this one. Others are kept.",
                        wish.destination)};
}

using Stream = base::Result<std::unique_ptr<session::FrameStream>>;

// Starts ssh, and keeps it in `made`.
Stream stream_by_ssh(const AgentWish& wish, const std::string& hash, AgentConnection& made) {
  auto connection = ssh::connect({wish.destination,
                                  ssh::agent_command(fmt::format("{}-{}", TRAINYARD_VERSION, hash),
                                                     program_directory() / "trainyard-agent"),
                                  wish.log_file.string()});
  if (!connection) return base::fail(connection.error());
  made.ssh.emplace(std::move(connection->process));
  return std::move(connection->stream);
}

Stream stream_of_joined(const AgentWish& wish) {
  auto socket = session::open_joined(wish.destination.substr(session::kJoinedPrefix.size()));
  if (!socket) {
    socket.error().where = wish.name;
    return base::fail(socket.error());
  }
  const int descriptor = ::fcntl(socket->get(), F_DUPFD_CLOEXEC, 3);
  return std::make_unique<session::FrameStream>(descriptor, descriptor, wish.name);
}

}  // namespace

base::Result<AgentConnection> connect_agent(const AgentWish& wish) {
  const std::filesystem::path bin = program_directory();
  const std::string hash = ssh::agent_hash(bin);
  AgentConnection made;
  auto stream = is_joined(wish) ? stream_of_joined(wish) : stream_by_ssh(wish, hash, made);
  if (!stream) return base::fail(stream.error());
  auto host = session::RemoteHost::connect({.name = wish.name,
                                            .stream = std::move(*stream),
                                            .relay_to_coordinator = wish.relay_to_coordinator,
                                            .log = wish.log,
                                            .is_canceled = wish.is_canceled},
                                           kConnectSeconds);
  if (!host) return base::fail(is_joined(wish) ? host.error() : explained(host.error(), wish));
  made.host = std::move(*host);
  const session::AgentHello& hello = made.host->hello();
  if (hello.software != TRAINYARD_VERSION || hello.hash != hash)
    return base::fail(other_agent(wish, hello));
  return made;
}

}  // namespace trainyard::app
