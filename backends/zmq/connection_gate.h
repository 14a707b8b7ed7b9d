// SPDX-License-Identifier: GPL-3.0-or-later
// Limits the connections to a listening socket. ZeroMQ has no such limit, and a listener of local
// sockets ends the process if it has no file descriptor left.
#pragma once

#include <memory>
#include <string>
#include <zmq.hpp>

namespace trainyard::zmq {

// While a socket has `limit` connections or more, the gate hides the file of its local endpoint
// (ipc://PATH): the system then refuses new connections, and existing ones continue. An endpoint
// over TCP is only counted. The owner of the socket calls `watch` often; connections that arrive in
// between are accepted beyond the limit.
class ConnectionGate {
 public:
  // Call it before `socket` is bound, and destroy the gate before the socket. Throws
  // ::zmq::error_t.
  ConnectionGate(::zmq::context_t& context, ::zmq::socket_t& socket, const std::string& name,
                 int limit);
  // The endpoint of the bound socket.
  void set_endpoint(const std::string& endpoint);

  void watch();  // counts connections, and hides or shows the endpoint
  ::zmq::socket_t& monitor() { return monitor_; }
  int connections() const { return connections_; }
  bool is_hidden() const { return hidden_; }
  void show();  // shows a hidden endpoint

 private:
  struct StopMonitoring {
    void operator()(void* socket) const { zmq_socket_monitor(socket, nullptr, 0); }
  };

  ::zmq::socket_t monitor_;
  // Must be destroyed before the monitor, because the socket sends events to it.
  std::unique_ptr<void, StopMonitoring> watched_;
  int limit_ = 0, connections_ = 0;
  std::string path_;  // empty for an endpoint over TCP
  bool hidden_ = false;
};

}  // namespace trainyard::zmq
