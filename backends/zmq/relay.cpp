// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/zmq/relay.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <span>
#include <vector>
#include <zmq.hpp>

#include "backends/zmq/codec.h"
#include "backends/zmq/connection_gate.h"
#include "backends/zmq/control_endpoint.h"
#include "core/base/file.h"

namespace trainyard::zmq {
namespace {

using base::Result;
using session::Congestion;
using session::PeerId;
using session::RelayedFrame;

constexpr std::size_t kRelayedPeers = 4096;

// Waits for sockets and descriptors. Returns early after a signal.
Result<void> wait_for(std::vector<zmq_pollitem_t> items, std::span<pollfd> also,
                      std::chrono::milliseconds limit) {
  const std::size_t sockets = items.size();
  for (const pollfd& one : also) items.push_back({nullptr, one.fd, one.events, 0});
  if (zmq_poll(items.data(), static_cast<int>(items.size()), limit.count()) < 0 &&
      zmq_errno() != EINTR)
    return base::fail(base::system_problem("relay", "cannot wait for messages", zmq_errno()));
  for (std::size_t i = 0; i < also.size(); ++i) also[i].revents = items[sockets + i].revents;
  return {};
}

class RanksEnd final : public session::Relay {
 public:
  RanksEnd(const std::string& endpoint, int connections)
      : socket_(context_, ::zmq::socket_type::router),
        gate_(context_, socket_, "relay", connections),
        endpoint_(endpoint) {
    configure_control(socket_, kMaxRankBytes);
    socket_.set(::zmq::sockopt::router_handover, true);
    socket_.bind(endpoint);
    gate_.set_endpoint(endpoint);
  }
  ~RanksEnd() override {
    gate_.show();
    ::unlink(endpoint_.c_str() + 6);
  }

  std::optional<RelayedFrame> receive(Congestion congestion) override {
    gate_.watch();
    ::zmq::message_t peer, frame, rest;
    while (socket_.recv(peer, ::zmq::recv_flags::dontwait)) {
      bool whole = peer.more() && socket_.recv(frame, ::zmq::recv_flags::dontwait).has_value();
      for (bool more = whole && frame.more(); more; more = rest.more()) {
        whole = false;
        if (!socket_.recv(rest, ::zmq::recv_flags::dontwait)) break;
      }
      if (!whole) continue;
      RelayedFrame relayed{peer.to_string(), frame.to_string()};
      relayed.is_heartbeat = is_progress(relayed.bytes);
      if (passes(relayed, congestion)) return relayed;
    }
    return std::nullopt;
  }

  void send(const PeerId& peer, std::string_view bytes) override {
    if (zmq_send(socket_.handle(), peer.data(), peer.size(), ZMQ_DONTWAIT | ZMQ_SNDMORE) < 0)
      return;
    zmq_send(socket_.handle(), bytes.data(), bytes.size(), ZMQ_DONTWAIT);
  }

  Result<void> wait(std::span<pollfd> also, std::chrono::milliseconds limit) override {
    return wait_for(
        {{socket_.handle(), 0, ZMQ_POLLIN, 0}, {gate_.monitor().handle(), 0, ZMQ_POLLIN, 0}}, also,
        limit);
  }

 private:
  // Drops events of the frame, and states in it how many were dropped so far. Returns false if none
  // is left.
  bool passes(RelayedFrame& frame, Congestion congestion) {
    const auto before = dropped_events_.find(frame.peer);
    if (!is_events(frame.bytes) ||
        (congestion == Congestion::none && before == dropped_events_.end()))
      return true;
    auto decoded = decode_message(std::as_bytes(std::span(frame.bytes)));
    auto* message = decoded ? std::get_if<session::Events>(&decoded->message) : nullptr;
    if (message == nullptr) return true;  // the coordinator reports it
    std::uint64_t& dropped = dropped_events_[frame.peer];
    if (congestion != Congestion::none)
      dropped += std::erase_if(message->events, [&](const telemetry::Event& event) {
        return congestion == Congestion::severe || event.kind == telemetry::EventKind::op;
      });
    message->dropped += dropped;
    if (auto bytes = encode_message(decoded->header, decoded->message))
      frame.bytes = std::move(*bytes);
    return !message->events.empty();
  }

  ::zmq::context_t context_;
  ::zmq::socket_t socket_;
  ConnectionGate gate_;
  std::string endpoint_;
  std::map<PeerId, std::uint64_t> dropped_events_;
};

class CoordinatorEnd final : public session::Relay {
 public:
  explicit CoordinatorEnd(std::string endpoint) : endpoint_(std::move(endpoint)) {}

  std::optional<RelayedFrame> receive(Congestion) override {
    ::zmq::message_t frame, rest;
    for (auto& [peer, socket] : sockets_) {
      if (!socket.recv(frame, ::zmq::recv_flags::dontwait)) continue;
      std::string bytes = frame.to_string();
      for (bool more = frame.more(); more; more = rest.more())
        if (!socket.recv(rest, ::zmq::recv_flags::dontwait)) break;
      return RelayedFrame{peer, std::move(bytes), false};
    }
    return std::nullopt;
  }

  void send(const PeerId& peer, std::string_view bytes) override {
    if (::zmq::socket_t* socket = socket_of(peer))
      zmq_send(socket->handle(), bytes.data(), bytes.size(), ZMQ_DONTWAIT);
  }

  Result<void> wait(std::span<pollfd> also, std::chrono::milliseconds limit) override {
    std::vector<zmq_pollitem_t> items;
    for (auto& [peer, socket] : sockets_) items.push_back({socket.handle(), 0, ZMQ_POLLIN, 0});
    return wait_for(std::move(items), also, limit);
  }

 private:
  // Returns the connection of a peer, which is made when the peer sends its first frame; null if
  // there are too many.
  ::zmq::socket_t* socket_of(const PeerId& peer) {
    if (const auto known = sockets_.find(peer); known != sockets_.end()) return &known->second;
    if (sockets_.size() >= kRelayedPeers) return nullptr;
    ::zmq::socket_t socket(context_, ::zmq::socket_type::dealer);
    configure_control(socket, kMaxControlBytes);
    socket.set(::zmq::sockopt::routing_id, peer);
    socket.connect(endpoint_);
    return &sockets_.emplace(peer, std::move(socket)).first->second;
  }

  std::string endpoint_;
  ::zmq::context_t context_;
  std::map<PeerId, ::zmq::socket_t> sockets_;
};

template <class Make>
Result<std::unique_ptr<session::Relay>> made(const std::string& endpoint, const Make& make) {
  try {
    return make();
  } catch (const ::zmq::error_t& error) {
    return base::fail(base::system_problem(endpoint, "cannot open the relay", error.num()));
  }
}

}  // namespace

Result<std::unique_ptr<session::Relay>> relay_ranks(const std::string& endpoint, int connections) {
  if (const auto ok = check_bind_endpoint(endpoint); !ok) return base::fail(ok.error());
  return made(endpoint, [&] { return std::make_unique<RanksEnd>(endpoint, connections); });
}

Result<std::unique_ptr<session::Relay>> relay_to_coordinator(const std::string& endpoint) {
  if (const auto ok = check_connect_endpoint(endpoint); !ok) return base::fail(ok.error());
  return made(endpoint, [&] { return std::make_unique<CoordinatorEnd>(endpoint); });
}

}  // namespace trainyard::zmq
