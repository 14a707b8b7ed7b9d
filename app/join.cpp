// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/join.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>

#include "app/network_address.h"
#include "app/paths.h"
#include "backends/ssh/ssh.h"
#include "backends/zmq/join_connection.h"
#include "core/base/clock.h"
#include "core/base/descriptor.h"
#include "core/session/hosts/tunnel.h"
#include "core/session/system/process.h"
#include "core/session/system/run_directory.h"

namespace trainyard::app {
namespace {

using base::Descriptor;
using base::Problem;
using base::ProblemCode;
using base::Result;
using session::JoinFrame;
using session::JoinFrameKind;

constexpr std::int64_t kPingNs = 1'000'000'000, kSilentNs = 10'000'000'000,
                       kLostNs = 600'000'000'000, kSuspendedNs = 2'000'000'000;
constexpr std::chrono::milliseconds kTick{100};
constexpr std::size_t kMaxAgents = 16;

// An agent with the tunnel that carries its bytes. The tunnel is destroyed first, which ends the
// agent.
struct RunningAgent {
  session::Process process;
  session::Tunnel tunnel;
};

// Limits this process, and all that it starts, to the first cores that it may use, and the private
// memory of each process.
void limit_to(const JoinOffer& offer) {
  cpu_set_t allowed, chosen;
  CPU_ZERO(&allowed);
  CPU_ZERO(&chosen);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
    std::int64_t cores = 0;
    for (int core = 0; core < CPU_SETSIZE && cores < offer.cores; ++core)
      if (CPU_ISSET(core, &allowed)) {
        CPU_SET(core, &chosen);
        ++cores;
      }
    ::sched_setaffinity(0, sizeof chosen, &chosen);
  }
  rlimit memory{};
  ::getrlimit(RLIMIT_DATA, &memory);
  memory.rlim_cur = memory.rlim_max =
      std::min(memory.rlim_max, static_cast<rlim_t>(offer.memory_bytes));
  ::setrlimit(RLIMIT_DATA, &memory);
}

class JoinedAgent {
 public:
  // `log`: file that receives what the agents print.
  JoinedAgent(const JoinOptions& options, zmq::Joined joined, std::string log)
      : o_(options),
        joined_(std::move(joined)),
        own_address_(own_address_toward(joined_.address)),
        log_(std::move(log)) {}

  Result<void> serve() {
    const std::int64_t begun = base::now_nanoseconds();
    heard_ns_ = looked_ns_ = begun;
    const auto lasts = static_cast<std::int64_t>(o_.offer.hours * 3.6e12);
    Result<void> result;
    while (!leaves_) {
      const std::int64_t now = base::now_nanoseconds();
      if (o_.is_canceled()) {
        result = base::fail(Problem{"canceled", ProblemCode::canceled, "trainyard-agent join",
                                    "canceled by the user", "", ""});
        break;
      }
      if (now - begun > lasts) {
        o_.report("the agreed time is over");
        break;
      }
      if (auto ok = exchange(now); !ok) {
        result = std::move(ok);
        break;
      }
    }
    agents_.clear();
    joined_.connection->send({JoinFrameKind::close});
    return result;
  }

 private:
  Result<void> exchange(std::int64_t now) {
    if (now - looked_ns_ > kSuspendedNs) heard_ns_ += now - looked_ns_;
    looked_ns_ = now;
    if (now - pinged_ns_ >= kPingNs) {
      joined_.connection->send({JoinFrameKind::ping});
      pinged_ns_ = now;
    }
    std::vector<pollfd> items;
    for (const auto& [number, agent] : agents_) agent.tunnel.wait_for(items);
    if (auto ok = joined_.connection->wait(items, kTick); !ok)
      return base::fail(Problem{"listener_refuses", ProblemCode::refused, joined_.address,
                                "the listener does not accept this machine any more", "",
                                "Join again with a new invitation."});
    while (auto frame = joined_.connection->receive()) take(*frame);
    for (auto& [number, agent] : agents_)
      for (const JoinFrame& frame : agent.tunnel.move()) joined_.connection->send(frame);
    for (auto at = agents_.begin(); at != agents_.end();) {
      RunningAgent& agent = at->second;
      at = agent.tunnel.is_over() && agent.process.ended() ? agents_.erase(at) : std::next(at);
    }
    return check_contact(now);
  }

  Result<void> check_contact(std::int64_t now) {
    const bool is_silent = now - heard_ns_ > kSilentNs;
    if (is_silent && !was_silent_) {
      o_.report("no contact with the listener; trying again");
      agents_.clear();
    }
    if (!is_silent && was_silent_) o_.report("connected again");
    was_silent_ = is_silent;
    if (now - heard_ns_ <= kLostNs) return {};
    return base::fail(Problem{
        "listener_lost", ProblemCode::unavailable, joined_.address,
        fmt::format("the listener was unresponsive for {} minutes", kLostNs / 60'000'000'000), "",
        "Start it with trainyard-cli hosts listen, and join again."});
  }

  void take(const JoinFrame& frame) {
    heard_ns_ = base::now_nanoseconds();
    if (frame.kind == JoinFrameKind::open) return start(frame.session);
    if (frame.kind == JoinFrameKind::close && frame.session == 0) {
      o_.report("the listener ended, or removed this machine");
      leaves_ = true;
      return;
    }
    if (const auto at = agents_.find(frame.session); at != agents_.end())
      at->second.tunnel.take(frame);
    else if (frame.kind == JoinFrameKind::data)
      joined_.connection->send({JoinFrameKind::close, frame.session});
  }

  void start(std::uint32_t number) {
    if (auto ok = try_start(number); !ok) {
      o_.report(base::to_string(ok.error()));
      joined_.connection->send({JoinFrameKind::close, number});
    } else {
      o_.report("a coordinator connected");
    }
  }

  Result<void> try_start(std::uint32_t number) {
    std::array<int, 2> to{}, from{};
    if (agents_.size() >= kMaxAgents)
      return base::fail(Problem{"too_many_agents", ProblemCode::refused, "trainyard-agent join",
                                fmt::format("{} coordinators use this machine", agents_.size()),
                                fmt::format("at most {}", kMaxAgents), ""});
    if (::pipe2(to.data(), O_CLOEXEC) != 0)
      return base::fail(base::system_problem("agent", "cannot make a pipe", errno));
    const Descriptor to_read(to[0]);
    Descriptor to_write(to[1]);
    if (::pipe2(from.data(), O_CLOEXEC) != 0)
      return base::fail(base::system_problem("agent", "cannot make a pipe", errno));
    Descriptor from_read(from[0]);
    const Descriptor from_write(from[1]);
    session::ProcessOptions options;
    options.program = (program_directory() / "trainyard-agent").string();
    options.arguments = {"--stdio",        "--memory",      std::to_string(o_.offer.memory_bytes),
                         "--reached-from", joined_.address, "--reached-at",
                         own_address_};
    if (o_.as_root) options.arguments.emplace_back("--as-root");
    options.log_file = log_;
    options.descriptors = {{to_read.get(), 0}, {from_write.get(), 1}};
    auto process = session::Process::start(options);
    if (!process) return base::fail(process.error());
    agents_.emplace(
        number, RunningAgent{std::move(*process),
                             session::Tunnel(number, std::move(from_read), std::move(to_write))});
    return {};
  }

  const JoinOptions& o_;
  zmq::Joined joined_;
  std::string own_address_, log_;
  std::map<std::uint32_t, RunningAgent> agents_;  // by session
  std::int64_t heard_ns_ = 0, pinged_ns_ = 0, looked_ns_ = 0;
  bool was_silent_ = false, leaves_ = false;
};

}  // namespace

Result<void> join_listener(const JoinOptions& options) {
  const auto directory = session::make_runtime_directory();  // where agents keep their sockets
  if (!directory) return base::fail(directory.error());
  const auto key = zmq::fetch_listener_key(options.invitation);
  if (!key) return base::fail(key.error());
  if (!options.consents(options.offer))
    return base::fail(Problem{"not_confirmed", ProblemCode::refused, "trainyard-agent join",
                              "the use of this machine was not confirmed", "",
                              "Run the command in a terminal, or give --yes."});
  session::JoinRequest request;
  request.software = TRAINYARD_VERSION;
  request.name = options.offer.name;
  request.architecture = ssh::architecture();
  request.cores = options.offer.cores;
  request.memory_bytes = options.offer.memory_bytes;
  request.seconds = options.offer.hours * 3600;
  auto joined = zmq::join(options.invitation, *key, std::move(request));
  if (!joined) return base::fail(joined.error());
  limit_to(options.offer);
  options.report(fmt::format("joined {} as {}", joined->listener, joined->name));
  return JoinedAgent(options, std::move(*joined), (*directory / "join.log").string()).serve();
}

}  // namespace trainyard::app
