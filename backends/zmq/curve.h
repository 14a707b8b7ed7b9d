// SPDX-License-Identifier: GPL-3.0-or-later
// Encryption and authentication of sockets by CURVE (CurveZMQ, RFC 26 of ZeroMQ). All ranks of a
// run have the same pair of keys, which is made for the run. CURVE alone accepts every client key,
// so a handler (ZAP, RFC 27) admits clients by their key.
#pragma once

#include <functional>
#include <string>
#include <thread>
#include <zmq.hpp>

#include "backends/zmq/curve_keys.h"

namespace trainyard::zmq {

// Admits clients by their key. Runs a thread until it is destroyed. Create it before a socket of
// its context is bound.
class KeyHandler {
 public:
  // True if a client with this public key (32 bytes) may connect from the address. Called in the
  // handler's thread.
  using Admits = std::function<bool(const std::string& key, const std::string& address)>;

  // Throws ::zmq::error_t.
  KeyHandler(::zmq::context_t& context, Admits admits);
  // Admits one key (Z85), that of a run.
  KeyHandler(::zmq::context_t& context, const std::string& public_key);
  ~KeyHandler();
  KeyHandler(const KeyHandler&) = delete;
  KeyHandler& operator=(const KeyHandler&) = delete;

  // Makes a socket, before it is bound, accept only clients that a handler admits. The property
  // User-Id of its messages is the client's key in hexadecimal digits. Throws ::zmq::error_t.
  static void protect_server(::zmq::socket_t& socket, const CurveKeys& keys);

 private:
  void serve();

  Admits admits_;
  ::zmq::socket_t requests_, stop_, stopped_;
  std::thread thread_;
};

// Makes a socket, before it connects, encrypt and accept only a server that has the keys of the
// run. Throws ::zmq::error_t.
void protect_client(::zmq::socket_t& socket, const CurveKeys& keys);
void protect_client(::zmq::socket_t& socket, const CurveKeys& keys, const std::string& server_key);

// Returns the 32 bytes of a key in Z85. Throws ::zmq::error_t.
std::string bytes_of_key(const std::string& z85);

// Connects with a random key, and fails (encryption_does_not_protect) unless it is refused. libzmq
// may be built without the option that `protect_server` sets. `server_key`: Z85.
base::Result<void> refuses_unknown_keys(::zmq::context_t& context, const std::string& endpoint,
                                        const std::string& server_key);

}  // namespace trainyard::zmq
