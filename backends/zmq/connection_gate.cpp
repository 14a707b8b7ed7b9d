// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/zmq/connection_gate.h"

#include <cstdint>
#include <cstdio>
#include <cstring>

namespace trainyard::zmq {
namespace {

constexpr const char* kLocalEndpoint = "ipc://";

std::string hidden_path(const std::string& path) { return path + ".full"; }

}  // namespace

ConnectionGate::ConnectionGate(::zmq::context_t& context, ::zmq::socket_t& socket,
                               const std::string& name, int limit)
    : monitor_(context, ::zmq::socket_type::pair), limit_(limit) {
  const std::string endpoint = "inproc://connections-" + name;
  if (zmq_socket_monitor(socket.handle(), endpoint.c_str(),
                         ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED) != 0)
    throw ::zmq::error_t();
  watched_.reset(socket.handle());
  // without a limit, because a full monitor would stop the thread that accepts connections
  monitor_.set(::zmq::sockopt::rcvhwm, 0);
  monitor_.connect(endpoint);
}

void ConnectionGate::set_endpoint(const std::string& endpoint) {
  if (endpoint.starts_with(kLocalEndpoint)) path_ = endpoint.substr(std::strlen(kLocalEndpoint));
}

// An event consists of two frames. The first contains a 16-bit event number and a 32-bit value, the
// second the address (zmq_socket_monitor(3)).
void ConnectionGate::watch() {
  ::zmq::message_t event, address;
  while (zmq_msg_recv(event.handle(), monitor_.handle(), ZMQ_DONTWAIT) >= 0) {
    std::uint16_t number = 0;
    if (event.size() >= sizeof number) std::memcpy(&number, event.data(), sizeof number);
    if (event.more()) zmq_msg_recv(address.handle(), monitor_.handle(), ZMQ_DONTWAIT);
    if (number == ZMQ_EVENT_ACCEPTED) ++connections_;
    if (number == ZMQ_EVENT_DISCONNECTED) --connections_;
  }
  if (path_.empty()) return;
  if (connections_ < limit_) show();
  else if (!hidden_) hidden_ = std::rename(path_.c_str(), hidden_path(path_).c_str()) == 0;
}

void ConnectionGate::show() {
  if (hidden_) hidden_ = std::rename(hidden_path(path_).c_str(), path_.c_str()) != 0;
}

}  // namespace trainyard::zmq
