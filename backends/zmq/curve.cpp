// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/zmq/curve.h"

#include <array>
#include <cstring>
#include <vector>

#include "core/base/clock.h"
#include "core/base/hex.h"

namespace trainyard::zmq {
namespace {

constexpr std::size_t kKeyBytes = 32, kKeyCharacters = 40;
constexpr const char* kDomain = "run";
constexpr const char* kStopEndpoint = "inproc://key-handler-stop";
// Parts of a request of ZAP: version, request number, domain, address, identity, mechanism, key.
constexpr std::size_t kRequestParts = 7, kVersionPart = 0, kNumberPart = 1, kDomainPart = 2,
                      kAddressPart = 3, kMechanismPart = 5, kKeyPart = 6;
constexpr int kHandshakeMilliseconds = 2000;

std::vector<std::string> receive_parts(::zmq::socket_t& socket) {
  std::vector<std::string> parts;
  ::zmq::message_t part;
  do {
    if (!socket.recv(part)) return {};
    parts.push_back(part.to_string());
  } while (part.more());
  return parts;
}

}  // namespace

base::Result<CurveKeys> make_curve_keys() {
  std::array<char, kKeyCharacters + 1> open{}, secret{};
  if (zmq_curve_keypair(open.data(), secret.data()) != 0)
    return base::fail({"no_encryption", base::ProblemCode::unavailable, "ZeroMQ",
                       "the library was built without encryption (libsodium)", "",
                       "Install a ZeroMQ with CURVE, or set network.encryption to none."});
  return CurveKeys{open.data(), secret.data()};
}

std::string bytes_of_key(const std::string& z85) {
  std::string bytes(kKeyBytes, '\0');
  if (z85.size() != kKeyCharacters ||
      zmq_z85_decode(reinterpret_cast<std::uint8_t*>(bytes.data()), z85.c_str()) == nullptr)
    throw ::zmq::error_t();
  return bytes;
}

KeyHandler::KeyHandler(::zmq::context_t& context, const std::string& public_key)
    : KeyHandler(context,
                 [admitted = bytes_of_key(public_key)](const std::string& key, const std::string&) {
                   return key == admitted;
                 }) {}

KeyHandler::KeyHandler(::zmq::context_t& context, Admits admits)
    : admits_(std::move(admits)),
      requests_(context, ::zmq::socket_type::rep),
      stop_(context, ::zmq::socket_type::pair),
      stopped_(context, ::zmq::socket_type::pair) {
  requests_.set(::zmq::sockopt::linger, 0);
  requests_.bind("inproc://zeromq.zap.01");
  stopped_.bind(kStopEndpoint);
  stop_.connect(kStopEndpoint);
  thread_ = std::thread([this] { serve(); });
}

KeyHandler::~KeyHandler() {
  stop_.send(::zmq::message_t(), ::zmq::send_flags::dontwait);
  thread_.join();
}

void KeyHandler::serve() {
  std::array<zmq_pollitem_t, 2> items{
      {{requests_.handle(), 0, ZMQ_POLLIN, 0}, {stopped_.handle(), 0, ZMQ_POLLIN, 0}}};
  while (true) {
    if (zmq_poll(items.data(), static_cast<int>(items.size()), -1) < 0 && zmq_errno() != EINTR)
      return;
    if (items[1].revents != 0) return;
    if (items[0].revents == 0) continue;
    const std::vector<std::string> request = receive_parts(requests_);
    const bool is_admitted = request.size() == kRequestParts && request[kDomainPart] == kDomain &&
                             request[kMechanismPart] == "CURVE" &&
                             admits_(request[kKeyPart], request[kAddressPart]);
    const std::array<std::string, 6> answer{
        request.empty() ? "1.0" : request[kVersionPart],
        request.size() > kNumberPart ? request[kNumberPart] : "",
        is_admitted ? "200" : "400",
        is_admitted ? "admitted" : "unknown key",
        is_admitted ? base::to_hex(request[kKeyPart]) : "",
        ""};
    for (std::size_t i = 0; i < answer.size(); ++i)
      requests_.send(::zmq::buffer(answer[i]),
                     i + 1 < answer.size() ? ::zmq::send_flags::sndmore : ::zmq::send_flags::none);
  }
}

void KeyHandler::protect_server(::zmq::socket_t& socket, const CurveKeys& keys) {
  using namespace ::zmq;
  socket.set(sockopt::zap_domain, kDomain);
  // ZMQ_ZAP_ENFORCE_DOMAIN, which zmq.h declares only for drafts. Without this option, libzmq 4.3
  // admits every client if no handler answers.
  constexpr int kEnforceDomain = 93, enforce = 1;
  if (zmq_setsockopt(socket.handle(), kEnforceDomain, &enforce, sizeof enforce) != 0)
    throw ::zmq::error_t();
  socket.set(sockopt::curve_server, true);
  socket.set(sockopt::curve_secretkey, keys.secret_key);
}

void protect_client(::zmq::socket_t& socket, const CurveKeys& keys) {
  protect_client(socket, keys, keys.public_key);
}

void protect_client(::zmq::socket_t& socket, const CurveKeys& keys, const std::string& server_key) {
  using namespace ::zmq;
  socket.set(sockopt::curve_serverkey, server_key);
  socket.set(sockopt::curve_publickey, keys.public_key);
  socket.set(sockopt::curve_secretkey, keys.secret_key);
}

base::Result<void> refuses_unknown_keys(::zmq::context_t& context, const std::string& endpoint,
                                        const std::string& server_key) {
  const auto keys = make_curve_keys();
  if (!keys) return base::fail(keys.error());
  ::zmq::socket_t socket(context, ::zmq::socket_type::dealer),
      events(context, ::zmq::socket_type::pair);
  socket.set(::zmq::sockopt::linger, 0);
  socket.set(::zmq::sockopt::ipv6, true);
  protect_client(socket, *keys, server_key);
  constexpr const char* kEvents = "inproc://unknown-key";
  zmq_socket_monitor(socket.handle(), kEvents,
                     ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                         ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                         ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL);
  events.connect(kEvents);
  events.set(::zmq::sockopt::rcvtimeo, kHandshakeMilliseconds);
  socket.connect(endpoint);
  const std::vector<std::string> event = receive_parts(events);
  zmq_socket_monitor(socket.handle(), nullptr, 0);
  std::uint16_t number = 0;
  if (!event.empty() && event[0].size() >= sizeof number)
    std::memcpy(&number, event[0].data(), sizeof number);
  if (number != 0 && number != ZMQ_EVENT_HANDSHAKE_SUCCEEDED) return {};
  return base::fail({"encryption_does_not_protect", base::ProblemCode::unavailable, endpoint,
                     number == 0 ? "a connection with an unknown key got no answer"
                                 : "a connection with an unknown key was accepted",
                     "", "Install libzmq 4.3.4 or newer with CURVE."});
}

}  // namespace trainyard::zmq
