// SPDX-License-Identifier: GPL-3.0-or-later
// Outgoing connection to one peer, and the state of that connection.
#pragma once

#include <span>
#include <string>
#include <zmq.hpp>

#include "backends/zmq/transport.h"
#include "backends/zmq/transport_frame.h"

namespace trainyard::zmq {

// Sets the options that both kinds of sockets have: those that send, and those that receive. Throws
// ::zmq::error_t.
void configure(::zmq::socket_t& socket, const TransportOptions& options);
// Sets what depends on the endpoint: IPv6, and the time of a handshake, which depends on who can
// connect.
void configure_for_endpoint(::zmq::socket_t& socket, const std::string& endpoint);

class Link {
 public:
  // Starts to connect to a peer. Throws ::zmq::error_t.
  Link(::zmq::context_t& context, const std::string& endpoint, int peer,
       const TransportOptions& options);

  const std::string& endpoint() const { return endpoint_; }
  // Sends a frame. Returns false if the link is not connected yet, or has no room. The payload must
  // remain valid until the peer has received it, or the link is destroyed.
  bool send(const FrameHeader& header, std::span<const std::byte> payload = {});
  // Sends a frame with a copy of the payload, which need not remain valid.
  bool send_copy(const FrameHeader& header, std::span<const std::byte> payload);

  // Reads monitor events. Returns true if the state of the connection changed.
  bool watch();
  int file_descriptor() { return monitor_.get(::zmq::sockopt::fd); }
  bool events_waiting() { return (monitor_.get(::zmq::sockopt::events) & ZMQ_POLLIN) != 0; }

  bool was_connected() const { return connected_; }
  // Time at which the connection was lost, in nanoseconds of base::now_nanoseconds; 0 if it is not
  // lost.
  std::int64_t lost_since() const { return lost_since_; }
  bool has_sent() const { return has_sent_; }
  void reset() { connected_ = has_sent_ = false, lost_since_ = 0; }  // forgets the last connection

 private:
  bool send_parts(const FrameHeader& header, ::zmq::message_t body);

  std::string endpoint_;
  ::zmq::socket_t monitor_;
  // Must be the last member: it sends events to the monitor, so it must be destroyed before the
  // monitor.
  ::zmq::socket_t socket_;
  bool connected_ = false;
  bool has_sent_ = false;  // true if a frame was sent over the connection
  std::int64_t lost_since_ = 0;
};

}  // namespace trainyard::zmq
