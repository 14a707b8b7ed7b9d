// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/zmq/join_connection.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>
#include <zmq.hpp>

#include "backends/zmq/curve.h"
#include "backends/zmq/join_keys.h"
#include "backends/zmq/listener_port.h"
#include "core/base/clock.h"
#include "core/session/hosts/tcp.h"

namespace trainyard::zmq {
namespace {

using base::Descriptor;
using base::Problem;
using base::ProblemCode;
using base::Result;
using session::Invitation;
using session::JoinFrame;

constexpr std::int64_t kFetchNs = 10'000'000'000, kAnswerNs = 15'000'000'000;
constexpr int kHandshakeWait = 5000, kReconnect = 500, kReconnectMost = 5000;  // ms

Problem unreachable(const Invitation& invitation, const std::string& what) {
  return {"listener_unreachable",
          ProblemCode::unavailable,
          session::place_of(invitation.host, invitation.port),
          what,
          "",
          "Check the address of the invitation, that trainyard-cli hosts listen runs there, and "
          "that its firewall accepts this port."};
}

// Asks one address of the listener for its key. Returns the reason if there is no answer.
Result<std::string> fetch_from(const addrinfo& address, const Invitation& invitation) {
  const std::int64_t end = base::now_nanoseconds() + kFetchNs;
  const Descriptor socket = session::open_tcp_socket(address);
  if (const int error = session::connect_until(socket, address, end); error != 0)
    return base::fail(unreachable(invitation, std::strerror(error)));
  const std::string_view request = ListenerPort::kKeyRequest;
  static_cast<void>(::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL));
  std::string answer;
  constexpr std::size_t kMost = 256;
  while (answer.size() < kMost && !answer.ends_with('\n') &&
         session::wait_for_socket(socket.get(), POLLIN, end)) {
    std::array<char, kMost> bytes{};
    const ssize_t got = ::recv(socket.get(), bytes.data(), bytes.size(), 0);
    if (got <= 0) break;
    answer.append(bytes.data(), static_cast<std::size_t>(got));
  }
  if (answer.empty())
    return base::fail(unreachable(
        invitation, "the connection was closed; the listener may have too many of them"));
  if (!answer.starts_with(ListenerPort::kKeyAnswer) || !answer.ends_with('\n'))
    return base::fail(unreachable(invitation,
                                  "a program that is not Trainyard's listener, or "
                                  "another version of it, answered"));
  return answer.substr(ListenerPort::kKeyAnswer.size(),
                       answer.size() - ListenerPort::kKeyAnswer.size() - 1);
}

std::string numeric_of(const addrinfo& address) {
  std::array<char, NI_MAXHOST> text{};
  ::getnameinfo(address.ai_addr, address.ai_addrlen, text.data(), text.size(), nullptr, 0,
                NI_NUMERICHOST);
  return text.data();
}

class ListenerConnection final : public JoinConnection {
 public:
  ListenerConnection(const std::string& endpoint, const CurveKeys& keys,
                     const std::string& server_key)
      : socket_(context_, ::zmq::socket_type::dealer), events_(context_, ::zmq::socket_type::pair) {
    using namespace ::zmq;
    socket_.set(sockopt::linger, 500);
    socket_.set(sockopt::ipv6, true);
    socket_.set(sockopt::maxmsgsize, static_cast<std::int64_t>(session::kMaxJoinFrameBytes));
    socket_.set(sockopt::handshake_ivl, kHandshakeWait);
    socket_.set(sockopt::reconnect_ivl, kReconnect);
    socket_.set(sockopt::reconnect_ivl_max, kReconnectMost);
    socket_.set(sockopt::sndhwm, 0);  // sessions limit what is queued
    protect_client(socket_, keys, server_key);
    constexpr const char* kEvents = "inproc://refused";
    zmq_socket_monitor(socket_.handle(), kEvents, ZMQ_EVENT_HANDSHAKE_FAILED_AUTH);
    events_.connect(kEvents);
    socket_.connect(endpoint);
  }
  ~ListenerConnection() override { zmq_socket_monitor(socket_.handle(), nullptr, 0); }

  void send(const JoinFrame& frame) override {
    const std::string bytes = to_bytes(frame);
    zmq_send(socket_.handle(), bytes.data(), bytes.size(), ZMQ_DONTWAIT);
  }

  std::optional<JoinFrame> receive() override {
    ::zmq::message_t bytes, rest;
    while (socket_.recv(bytes, ::zmq::recv_flags::dontwait)) {
      for (bool more = bytes.more(); more; more = rest.more())
        if (!socket_.recv(rest)) break;
      if (auto frame = session::join_frame_from(bytes.to_string_view(), "listener"))
        return std::move(*frame);
    }
    return std::nullopt;
  }

  Result<void> wait(std::span<pollfd> also, std::chrono::milliseconds limit) override {
    std::vector<zmq_pollitem_t> items{{socket_.handle(), 0, ZMQ_POLLIN, 0},
                                      {events_.handle(), 0, ZMQ_POLLIN, 0}};
    for (const pollfd& one : also) items.push_back({nullptr, one.fd, one.events, 0});
    if (zmq_poll(items.data(), static_cast<int>(items.size()), limit.count()) < 0 &&
        zmq_errno() != EINTR)
      return base::fail(base::system_problem("listener", "cannot wait for messages", zmq_errno()));
    ::zmq::message_t event;
    while (events_.recv(event, ::zmq::recv_flags::dontwait)) is_refused_ = true;
    if (is_refused_)
      return base::fail({"invitation_refused", ProblemCode::refused, "listener",
                         "the listener does not accept the code: it is wrong, has expired, was "
                         "withdrawn, or has admitted all its machines",
                         "",
                         "Check the code, or ask for a new invitation. After five wrong codes, "
                         "wait a minute."});
    return {};
  }

 private:
  ::zmq::context_t context_;
  ::zmq::socket_t socket_, events_;
  bool is_refused_ = false;
};

Result<session::JoinAccepted> answer_of(JoinConnection& connection, const std::string& peer) {
  const std::int64_t end = base::now_nanoseconds() + kAnswerNs;
  while (base::now_nanoseconds() < end) {
    if (auto ok = connection.wait({}, std::chrono::milliseconds(100)); !ok)
      return base::fail(ok.error());
    const auto frame = connection.receive();
    if (!frame || frame->kind != session::JoinFrameKind::message) continue;
    const auto message = session::join_message_from(frame->bytes, peer);
    if (!message) return base::fail(message.error());
    if (const auto* refusal = std::get_if<session::Refusal>(&*message))
      return base::fail(session::problem_of(*refusal, peer));
    if (const auto* accepted = std::get_if<session::JoinAccepted>(&*message)) return *accepted;
  }
  return base::fail(Problem{"listener_unreachable", ProblemCode::unavailable, peer,
                            "the listener did not answer", "", "Check the network."});
}

}  // namespace

Result<ListenerKey> fetch_listener_key(const Invitation& invitation) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  if (const int error = ::getaddrinfo(invitation.host.c_str(),
                                      std::to_string(invitation.port).c_str(), &hints, &found);
      error != 0)
    return base::fail({"host_name_unknown", ProblemCode::bad_input, invitation.host,
                       fmt::format("the name has no address: {}", gai_strerror(error)), "",
                       "Correct the invitation, or use an address instead of the name."});
  const session::SocketAddress keep(found);
  Result<std::string> key = base::fail(unreachable(invitation, "it has no address"));
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    key = fetch_from(*at, invitation);
    if (!key) continue;
    if (!is_key_of(invitation.code, *key))
      return base::fail(
          {"listener_differs", ProblemCode::refused,
           session::place_of(invitation.host, invitation.port),
           "the listener does not have the key of the invitation", "",
           "Check the code. If it is right, the listener was started again, and the invitation is "
           "old, or another program answers at this address."});
    return ListenerKey{numeric_of(*at), *key};
  }
  return base::fail(key.error());
}

Result<Joined> join(const Invitation& invitation, const ListenerKey& key,
                    session::JoinRequest request) {
  const auto invited = client_keys_of(invitation.code);
  const auto keys = make_curve_keys();
  if (!invited) return base::fail(invited.error());
  if (!keys) return base::fail(keys.error());
  request.public_key = keys->public_key;
  const std::string place = session::place_of(key.address, invitation.port);
  try {
    ListenerConnection invitation_connection("tcp://" + place, *invited, key.public_key);
    invitation_connection.send(
        {session::JoinFrameKind::message, 0, 0, session::to_text(session::JoinMessage(request))});
    auto accepted = answer_of(invitation_connection, place);
    if (!accepted) return base::fail(accepted.error());
    return Joined{accepted->name, accepted->listener, key.address,
                  std::make_unique<ListenerConnection>("tcp://" + place, *keys, key.public_key)};
  } catch (const ::zmq::error_t& error) {
    return base::fail(base::system_problem(place, "cannot open a connection", error.num()));
  }
}

}  // namespace trainyard::zmq
