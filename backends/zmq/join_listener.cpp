// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/zmq/join_listener.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <vector>
#include <zmq.hpp>

#include "backends/zmq/curve.h"
#include "backends/zmq/join_keys.h"
#include "backends/zmq/listener_port.h"
#include "core/base/clock.h"
#include "core/base/hex.h"
#include "core/base/log.h"
#include "core/session/hosts/admission.h"
#include "core/session/hosts/invitation.h"
#include "core/session/hosts/listener_messages.h"
#include "core/session/hosts/tcp.h"
#include "core/session/hosts/tunnel.h"

namespace trainyard::zmq {
namespace {

using namespace session;
using base::Descriptor;
using base::Problem;
using base::ProblemCode;
using base::Result;

constexpr int kListenerTick = 100;  // ms
constexpr std::int64_t kMachineSilence = 10'000'000'000, kSuspension = 2'000'000'000;
constexpr std::size_t kMaxRequestBytes = std::size_t{64} << 10, kMaxPrograms = 256;
constexpr int kHandshakeLimit = 2000;  // ms
constexpr std::int64_t kLastFramesNs = 500'000'000;

double seconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }

// State of a machine's connection.
struct MachineLink {
  std::string route{};  // of the ROUTER socket; changes when the machine connects again
  std::int64_t last_ns = 0;
  std::map<std::uint32_t, Tunnel> sessions{};
};

// Connection of a program of this user, until its request is answered.
struct Program {
  Descriptor socket;
  std::string received{};
  bool is_over = false;
};

class JoinListener {
 public:
  explicit JoinListener(const ListenerOptions& options)
      : o_(options), machines_socket_(context_, ::zmq::socket_type::router) {}

  Result<void> open() {
    if (auto ok = lock(); !ok) return ok;
    auto keys = make_curve_keys();
    if (!keys) return base::fail(keys.error());
    keys_ = std::move(*keys);
    handler_ = std::make_unique<KeyHandler>(
        context_, [this](const std::string& key, const std::string& address) {
          return admission_.admits(key, remotes_->of(address), base::now_nanoseconds());
        });
    using namespace ::zmq;
    machines_socket_.set(sockopt::linger, 0);
    machines_socket_.set(sockopt::maxmsgsize, static_cast<std::int64_t>(kMaxJoinFrameBytes));
    machines_socket_.set(sockopt::handshake_ivl, kHandshakeLimit);
    machines_socket_.set(sockopt::sndhwm, 0);  // sessions limit what is queued
    machines_socket_.set(sockopt::router_mandatory, true);
    KeyHandler::protect_server(machines_socket_, keys_);
    machines_socket_.bind("tcp://127.0.0.1:*");
    const std::string endpoint = machines_socket_.get(sockopt::last_endpoint);
    if (auto ok = refuses_unknown_keys(context_, endpoint, keys_.public_key); !ok) return ok;
    auto port = ListenerPort::open(o_.address, o_.port, keys_.public_key,
                                   std::stoi(endpoint.substr(endpoint.rfind(':') + 1)), remotes_);
    if (!port) return base::fail(port.error());
    port_ = std::move(*port);
    return listen_for_programs();
  }

  Result<void> serve() {
    active_ns_ = looked_ns_ = base::now_nanoseconds();
    while (!stops_ && !is_idle() && !(o_.is_canceled && o_.is_canceled())) {
      if (auto ok = wait(); !ok) return ok;
      accept_programs();
      for (Program& program : programs_) read_request(program);
      std::erase_if(programs_, [](const Program& one) { return one.is_over; });
      receive();
      move_sessions();
      forget_silent_machines();
    }
    std::error_code ignored;
    std::filesystem::remove(o_.directory / kListenerSocket, ignored);
    return dismiss_machines();
  }

 private:
  // Ends the agents of all machines. Waits briefly for their answers.
  Result<void> dismiss_machines() {
    for (auto& [key, machine] : machines_) send(machine, {JoinFrameKind::close});
    const std::int64_t end = base::now_nanoseconds() + kLastFramesNs;
    for (std::int64_t now = 0;
         (now = base::now_nanoseconds()) < end && !admission_.machines(now).empty(); receive())
      if (auto ok = wait(); !ok) return ok;
    return {};
  }

  Result<void> lock() {
    const std::string path = o_.directory / "lock";
    lock_ = Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (lock_.get() < 0) return base::fail(base::system_problem(path, "cannot open", errno));
    if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0)
      return base::fail({"listener_runs", ProblemCode::refused, "listener",
                         "a listener of this user runs already", "",
                         "Use it, or end it with trainyard-cli hosts listen --stop."});
    return {};
  }

  Result<void> listen_for_programs() {
    const std::string path = o_.directory / kListenerSocket;
    const auto address = local_address(path);
    if (!address) return base::fail(base::system_problem(path, "cannot listen", ENAMETOOLONG));
    std::error_code ignored;
    std::filesystem::remove(path, ignored);  // of a listener that was killed
    listening_ = Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (::bind(listening_.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) !=
            0 ||
        ::listen(listening_.get(), SOMAXCONN) != 0)
      return base::fail(base::system_problem(path, "cannot listen", errno));
    return {};
  }

  Result<void> wait() {
    std::vector<pollfd> waits{{listening_.get(), POLLIN, 0}};
    for (const Program& program : programs_) waits.push_back({program.socket.get(), POLLIN, 0});
    for (const auto& [key, machine] : machines_)
      for (const auto& [number, tunnel] : machine.sessions) tunnel.wait_for(waits);
    std::vector<zmq_pollitem_t> items{{machines_socket_.handle(), 0, ZMQ_POLLIN, 0}};
    for (const pollfd& one : waits) items.push_back({nullptr, one.fd, one.events, 0});
    if (zmq_poll(items.data(), static_cast<int>(items.size()), kListenerTick) < 0 &&
        zmq_errno() != EINTR)
      return base::fail(base::system_problem("listener", "cannot wait for messages", zmq_errno()));
    return {};
  }

  bool is_idle() {
    const std::int64_t now = base::now_nanoseconds();
    if (!admission_.invitations(now).empty() || !admission_.machines(now).empty()) active_ns_ = now;
    return seconds(now - active_ns_) > o_.idle_seconds;
  }

  // ---- programs of this user

  void accept_programs() {
    while (true) {
      Descriptor socket(
          ::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!socket.is_open()) return;
      if (programs_.size() < kMaxPrograms) programs_.push_back({std::move(socket)});
    }
  }

  void read_request(Program& program) {
    std::array<char, 4096> bytes{};
    const ssize_t got = ::recv(program.socket.get(), bytes.data(), bytes.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got > 0) program.received.append(bytes.data(), static_cast<std::size_t>(got));
    const std::size_t end = program.received.find('\n');
    if (end == std::string::npos) {
      program.is_over = got <= 0 || program.received.size() > kMaxRequestBytes;
      return;
    }
    program.is_over = true;
    const auto request = listener_request_from(program.received.substr(0, end));
    if (!request) return answer(program, refusal_of(request.error()));
    std::visit([&](const auto& one) { take(program, one); }, *request);
  }

  static void answer(const Program& program, const ListenerAnswer& answer) {
    const std::string text = to_text(answer) + "\n";
    static_cast<void>(
        ::send(program.socket.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  }

  void take(const Program& program, const InviteMachines& request) {
    const auto code = make_invitation_code(keys_.public_key);
    if (!code) return answer(program, refusal_of(code.error()));
    const auto keys = client_keys_of(*code);
    if (!keys) return answer(program, refusal_of(keys.error()));
    const std::int64_t expires =
        base::now_nanoseconds() + static_cast<std::int64_t>(request.seconds * 1e9);
    admission_.issue({to_text(*code), bytes_of_key(keys->public_key), request.machines, expires});
    answer(program, Invited{to_text(Invitation{o_.address, port_->port(), *code}), request.machines,
                            request.seconds});
  }

  void take(const Program& program, const WithdrawInvitation& request) {
    const auto code = invitation_code_from(request.code);
    if (!code) return answer(program, refusal_of(code.error()));
    if (admission_.withdraw(to_text(*code))) return answer(program, ListenerDone{});
    answer(program, Refusal{"unknown_invitation", "the listener has no such invitation", "",
                            "Run trainyard-cli hosts list, which prints all."});
  }

  void take(const Program& program, const ListJoined&) {
    const std::int64_t now = base::now_nanoseconds();
    ListenerState state;
    state.address = place_of(o_.address, port_->port());
    for (const IssuedInvitation& one : admission_.invitations(now))
      state.invitations.push_back({fmt::format("{}/{}", state.address, one.code), one.machines,
                                   seconds(one.expires_ns - now)});
    for (const JoinedMachine& one : admission_.machines(now)) {
      const auto at = machines_.find(one.key);
      JoinedState& machine = state.machines.emplace_back();
      machine.name = one.request.name, machine.address = one.address;
      machine.software = one.request.software;
      machine.architecture = one.request.architecture;
      machine.cores = one.request.cores, machine.memory_bytes = one.request.memory_bytes;
      machine.seconds = seconds(one.expires_ns - now);
      if (at == machines_.end()) continue;
      machine.silent_seconds = seconds(std::max<std::int64_t>(0, now - at->second.last_ns));
      machine.sessions = std::ssize(at->second.sessions);
    }
    answer(program, state);
  }

  static Refusal unknown_machine(const std::string& name) {
    return {"machine_not_joined", fmt::format("no machine with the name \"{}\" has joined", name),
            "",
            "Run trainyard-agent join on it, with an invitation of trainyard-cli hosts listen."};
  }

  void take(const Program& program, const RemoveJoined& request) {
    for (const JoinedMachine& one : admission_.machines(base::now_nanoseconds()))
      if (one.request.name == request.name) {
        if (const auto at = machines_.find(one.key); at != machines_.end()) {
          send(at->second, {JoinFrameKind::close});  // of session 0: the machine itself
          machines_.erase(at);
        }
        admission_.remove(request.name);
        return answer(program, ListenerDone{});
      }
    answer(program, unknown_machine(request.name));
  }

  void take(Program& program, const OpenJoined& request) {
    const std::int64_t now = base::now_nanoseconds();
    for (const JoinedMachine& one : admission_.machines(now)) {
      if (one.request.name != request.name) continue;
      const auto at = machines_.find(one.key);
      if (at == machines_.end() || now - at->second.last_ns > kMachineSilence)
        return answer(program,
                      Refusal{"machine_unresponsive",
                              fmt::format("the machine {} has no connection", one.request.name), "",
                              "Check that it runs, and that trainyard-agent join "
                              "runs on it."});
      const std::uint32_t session = next_session_++;
      if (!send(at->second, {JoinFrameKind::open, session}))
        return answer(program, unknown_machine(request.name));
      answer(program, ListenerOpened{});
      Descriptor output(::fcntl(program.socket.get(), F_DUPFD_CLOEXEC, 3));
      at->second.sessions.emplace(session,
                                  Tunnel(session, std::move(program.socket), std::move(output)));
      return;
    }
    answer(program, unknown_machine(request.name));
  }

  void take(const Program& program, const StopListener&) {
    stops_ = true;
    answer(program, ListenerDone{});
  }

  // ---- machines

  bool send_to(const std::string& route, const JoinFrame& frame) {
    const std::string bytes = to_bytes(frame);
    return zmq_send(machines_socket_.handle(), route.data(), route.size(),
                    ZMQ_DONTWAIT | ZMQ_SNDMORE) >= 0 &&
           zmq_send(machines_socket_.handle(), bytes.data(), bytes.size(), ZMQ_DONTWAIT) >= 0;
  }
  bool send(const MachineLink& machine, const JoinFrame& frame) {
    return send_to(machine.route, frame);
  }

  void receive() {
    ::zmq::message_t route, bytes, rest;
    while (machines_socket_.recv(route, ::zmq::recv_flags::dontwait)) {
      bool whole = route.more() && machines_socket_.recv(bytes).has_value();
      for (bool more = whole && bytes.more(); more; more = rest.more()) {
        whole = false;
        if (!machines_socket_.recv(rest)) break;
      }
      if (!whole) continue;
      const auto key = base::from_hex(property(bytes, "User-Id"));
      const auto frame = join_frame_from(bytes.to_string_view(), "machine");
      if (!key || !frame) continue;
      if (admission_.is_machine(*key)) take_frame(*key, route.to_string(), *frame);
      else if (frame->kind == JoinFrameKind::message)
        take_join(*key, route.to_string(), remotes_->of(property(bytes, "Peer-Address")),
                  frame->bytes);
    }
  }

  static std::string property(::zmq::message_t& message, const char* name) {
    const char* const value = zmq_msg_gets(message.handle(), name);
    return value != nullptr ? value : "";
  }

  void take_join(const std::string& key, const std::string& route, const std::string& address,
                 const std::string& text) {
    const auto reply = [&](const JoinMessage& message) {
      send_to(route, {JoinFrameKind::message, 0, 0, to_text(message)});
    };
    const auto refuse = [&](const Problem& problem) { reply(refusal_of(problem)); };
    const auto message = join_message_from(text, address);
    if (!message) return refuse(message.error());
    const auto* request = std::get_if<JoinRequest>(&*message);
    if (request == nullptr) return;
    std::string machine_key;
    try {
      machine_key = bytes_of_key(request->public_key);
    } catch (const ::zmq::error_t&) {
      return refuse({"bad_message", ProblemCode::bad_input, address, "the key is not one", "", ""});
    }
    const auto joined =
        admission_.join(key, machine_key, address, *request, base::now_nanoseconds());
    if (!joined) return refuse(joined.error());
    base::log_info(fmt::format("{} joined from {}", joined->request.name, address));
    reply(JoinAccepted{joined->request.name, o_.name});
  }

  void take_frame(const std::string& key, const std::string& route, const JoinFrame& frame) {
    MachineLink& machine = machines_[key];
    // After a new connection, frames of the old one may be lost.
    if (machine.route != route && !machine.route.empty()) abort_sessions(machine);
    machine.route = route;
    machine.last_ns = base::now_nanoseconds();
    if (frame.kind == JoinFrameKind::ping) {
      send(machine, frame);
    } else if (const auto at = machine.sessions.find(frame.session); at != machine.sessions.end()) {
      at->second.take(frame);
    } else if (frame.kind == JoinFrameKind::close && frame.session == 0) {
      abort_sessions(machine);  // the machine leaves
      admission_.remove_key(key);
    } else if (frame.kind == JoinFrameKind::data) {
      send(machine, {JoinFrameKind::close, frame.session});
    }
  }

  void abort_sessions(MachineLink& machine) {
    for (auto& [number, tunnel] : machine.sessions) {
      tunnel.abort();
      send(machine, {JoinFrameKind::close, number});
    }
    machine.sessions.clear();
  }

  void move_sessions() {
    for (auto& [key, machine] : machines_) {
      for (auto& [number, tunnel] : machine.sessions)
        for (const JoinFrame& frame : tunnel.move()) send(machine, frame);
      std::erase_if(machine.sessions, [](const auto& one) { return one.second.is_over(); });
    }
  }

  void forget_silent_machines() {
    const std::int64_t now = base::now_nanoseconds(), gap = now - looked_ns_;
    looked_ns_ = now;
    for (auto& [key, machine] : machines_) {
      if (gap > kSuspension) machine.last_ns += gap;  // this process was suspended
      if (now - machine.last_ns > kMachineSilence) abort_sessions(machine);
    }
    std::erase_if(machines_, [&](const auto& one) { return !admission_.is_machine(one.first); });
  }

  ListenerOptions o_;
  Descriptor lock_{-1}, listening_{-1};
  CurveKeys keys_;
  Admission admission_;
  std::shared_ptr<RemoteAddresses> remotes_ = std::make_shared<RemoteAddresses>();
  ::zmq::context_t context_;
  std::unique_ptr<KeyHandler> handler_;
  ::zmq::socket_t machines_socket_;
  std::unique_ptr<ListenerPort> port_;
  std::vector<Program> programs_;
  std::map<std::string, MachineLink> machines_;  // by key
  std::uint32_t next_session_ = 1;
  std::int64_t active_ns_ = 0, looked_ns_ = 0;
  bool stops_ = false;
};

}  // namespace

Result<void> run_listener(const ListenerOptions& options) {
  try {
    JoinListener listener(options);
    if (auto ok = listener.open(); !ok) return ok;
    return listener.serve();
  } catch (const ::zmq::error_t& error) {
    return base::fail(base::system_problem("listener", "cannot open its sockets", error.num()));
  }
}

}  // namespace trainyard::zmq
