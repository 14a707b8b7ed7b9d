// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/zmq/transport_link.h"

#include <algorithm>
#include <cstring>

#include "backends/zmq/curve.h"
#include "backends/zmq/transport_lanes.h"
#include "core/base/clock.h"
#include "core/comm/problem_bytes.h"

namespace trainyard::zmq {
namespace {

constexpr int kLingerMilliseconds = 1000;

// Returns a message that refers to the caller's bytes. The null free function makes ZeroMQ treat
// the bytes as constant data, without a copy.
::zmq::message_t wrap_bytes(std::span<const std::byte> bytes) {
  return {const_cast<std::byte*>(bytes.data()), bytes.size(),
          static_cast<::zmq::free_fn*>(nullptr)};
}

}  // namespace

void configure(::zmq::socket_t& socket, const TransportOptions& options) {
  using namespace ::zmq;
  // Bytes by which CURVE lengthens a message: 8 for its name, 8 for the nonce, 16 for the
  // authenticator, 1 for flags (CurveZMQ, RFC 26).
  const std::size_t overhead = options.keys.public_key.empty() ? 0 : 33;
  socket.set(sockopt::maxmsgsize,
             static_cast<std::int64_t>(std::max(options.max_payload_bytes, comm::kMaxProblemBytes) +
                                       overhead));
  // Maximum number of queued frames. Each lane can have kWindowMessages messages and as many
  // acknowledgments in flight. The other 16 frames are for abort and leave.
  const int most = 2 * static_cast<int>(kWindowMessages) * options.channels + 16;
  socket.set(sockopt::sndhwm, most);
  socket.set(sockopt::rcvhwm, most);
  socket.set(sockopt::linger, kLingerMilliseconds);
  socket.set(sockopt::connect_timeout, 5000);
  socket.set(sockopt::backlog, 1024);
}

// Strangers can connect over TCP, so their handshakes have little time. Only processes of this user
// can connect to a local socket. With many more ranks than cores, their handshakes take seconds.
void configure_for_endpoint(::zmq::socket_t& socket, const std::string& endpoint) {
  socket.set(::zmq::sockopt::handshake_ivl, endpoint.starts_with("ipc://") ? 30'000 : 2000);
  if (endpoint.starts_with("tcp://[")) socket.set(::zmq::sockopt::ipv6, true);
}

Link::Link(::zmq::context_t& context, const std::string& endpoint, int peer,
           const TransportOptions& options)
    : endpoint_(endpoint),
      monitor_(context, ::zmq::socket_type::pair),
      socket_(context, ::zmq::socket_type::push) {
  configure(socket_, options);
  configure_for_endpoint(socket_, endpoint);
  if (!options.keys.public_key.empty()) protect_client(socket_, options.keys);
  // Makes ZeroMQ refuse messages for a peer that is not connected, instead of queueing them. So
  // every message that `post` accepts is really in flight, and leaving never waits for a peer that
  // is gone.
  socket_.set(::zmq::sockopt::immediate, 1);
  socket_.set(::zmq::sockopt::reconnect_ivl, 20);
  socket_.set(::zmq::sockopt::reconnect_ivl_max, 500);
  const std::string monitor_endpoint = "inproc://monitor-" + std::to_string(peer);
  if (zmq_socket_monitor(socket_.handle(), monitor_endpoint.c_str(),
                         ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED) != 0)
    throw ::zmq::error_t();
  monitor_.set(::zmq::sockopt::linger, 0);
  monitor_.connect(monitor_endpoint);
  socket_.connect(endpoint);
}

bool Link::send(const FrameHeader& header, std::span<const std::byte> payload) {
  return send_parts(header, wrap_bytes(payload));
}

bool Link::send_copy(const FrameHeader& header, std::span<const std::byte> payload) {
  return send_parts(header, ::zmq::message_t(payload.data(), payload.size()));
}

bool Link::send_parts(const FrameHeader& header, ::zmq::message_t body) {
  const auto frame = encode(header);
  ::zmq::message_t head(frame.data(), frame.size());
  const bool more = has_payload(header.kind);
  const int flags = ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0);
  // If a send fails, queries ZMQ_EVENTS and tries again. The query processes connection events,
  // which zmq_msg_send checks only occasionally. ZeroMQ signals a new connection only once, so the
  // connection could otherwise go unnoticed.
  if (zmq_msg_send(head.handle(), socket_.handle(), flags) < 0) {
    if ((socket_.get(::zmq::sockopt::events) & ZMQ_POLLOUT) == 0) return false;
    if (zmq_msg_send(head.handle(), socket_.handle(), flags) < 0) return false;
  }
  has_sent_ = true;
  if (!more) return true;
  // ZeroMQ accepts either all parts of a message or none, and it has accepted the first part
  // (zmq_send(3)).
  return zmq_msg_send(body.handle(), socket_.handle(), ZMQ_DONTWAIT) >= 0;
}

// Reads monitor events. An event consists of two frames. The first contains a 16-bit event number
// and a 32-bit value, the second the address (zmq_socket_monitor(3)).
bool Link::watch() {
  bool changed = false;
  ::zmq::message_t event, address;
  while (zmq_msg_recv(event.handle(), monitor_.handle(), ZMQ_DONTWAIT) >= 0) {
    std::uint16_t number = 0;
    if (event.size() >= sizeof number) std::memcpy(&number, event.data(), sizeof number);
    if (event.more()) zmq_msg_recv(address.handle(), monitor_.handle(), ZMQ_DONTWAIT);
    if (number == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {
      connected_ = true;
      // Nothing was lost with a connection that carried no frame, and ZeroMQ has connected again.
      if (!has_sent_) lost_since_ = 0;
    }
    if (number == ZMQ_EVENT_DISCONNECTED && connected_ && lost_since_ == 0)
      lost_since_ = base::now_nanoseconds();
    changed = true;
  }
  return changed;
}

}  // namespace trainyard::zmq
