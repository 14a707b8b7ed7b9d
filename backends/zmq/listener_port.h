// SPDX-License-Identifier: GPL-3.0-or-later
// The TCP port of a listener. A connection that begins with "TYKEY" and a line feed receives one
// line with the listener's public key, which the client compares with the fingerprint of its
// invitation. All other connections must speak ZMTP, and are passed on to a socket of ZeroMQ on the
// loopback interface. Each of them comes from a loopback address of its own, so that the handler of
// keys knows the remote address. Limits the connections and the time until their first bytes.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/base/descriptor.h"
#include "core/base/result.h"

namespace trainyard::zmq {

// Remote addresses of the connections that were passed on, by loopback address. Thread-safe.
class RemoteAddresses {
 public:
  void set(const std::string& loopback, const std::string& remote);
  void forget(const std::string& loopback);
  // Returns the loopback address itself if it is none of these connections.
  std::string of(const std::string& loopback) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string> remotes_;
};

class ListenerPort {
 public:
  static constexpr std::string_view kKeyRequest = "TYKEY\n", kKeyAnswer = "TYKEY1 ";
  static constexpr std::size_t kMaxConnections = 512, kMaxConnectionsPerAddress = 128;

  // Listens at a numeric address; port 0: any free one. `upstream_port`: of the ZeroMQ socket at
  // 127.0.0.1. Runs a thread until it is destroyed. Problems: cannot_listen, bad_address.
  static base::Result<std::unique_ptr<ListenerPort>> open(const std::string& address, int port,
                                                          const std::string& public_key,
                                                          int upstream_port,
                                                          std::shared_ptr<RemoteAddresses> remotes);
  ~ListenerPort();
  ListenerPort(const ListenerPort&) = delete;
  ListenerPort& operator=(const ListenerPort&) = delete;

  int port() const { return port_; }

 private:
  struct Direction;
  struct Connection;
  ListenerPort(base::Descriptor listening, const std::string& public_key, int upstream_port,
               std::shared_ptr<RemoteAddresses> remotes);
  void serve();
  void accept();
  void serve_connection(Connection& connection, short client_events, short upstream_events);
  void read_first(Connection& connection);
  void connect_upstream(Connection& connection);

  base::Descriptor listening_, stop_reading_{-1}, stop_writing_{-1};
  std::string key_answer_;
  int port_ = 0, upstream_port_;
  std::uint32_t next_loopback_ = 1;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::shared_ptr<RemoteAddresses> remotes_;
  std::thread thread_;
};

}  // namespace trainyard::zmq
