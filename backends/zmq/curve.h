// SPDX-License-Identifier: GPL-3.0-or-later
// Encryption and authentication of sockets by CURVE (CurveZMQ, RFC 26 of ZeroMQ). All ranks of a
// run have the same pair of keys, which is made for the run. CURVE alone accepts every client key,
// so a handler (ZAP, RFC 27) admits only clients that have the public key of the run.
#pragma once

#include <string>
#include <thread>
#include <zmq.hpp>

#include "backends/zmq/curve_keys.h"

namespace trainyard::zmq {

// Admits clients by their key. Runs a thread until it is destroyed. Create it before a socket of
// its context is bound.
class KeyHandler {
 public:
  // Throws ::zmq::error_t.
  KeyHandler(::zmq::context_t& context, std::string public_key);
  ~KeyHandler();
  KeyHandler(const KeyHandler&) = delete;
  KeyHandler& operator=(const KeyHandler&) = delete;

  // Makes a socket, before it is bound, accept only clients with the key of the run. Throws
  // ::zmq::error_t.
  static void protect_server(::zmq::socket_t& socket, const CurveKeys& keys);

 private:
  void serve();

  std::string admitted_;  // public key of the run, 32 bytes
  ::zmq::socket_t requests_, stop_, stopped_;
  std::thread thread_;
};

// Makes a socket, before it connects, encrypt and accept only a server that has the keys of the
// run. Throws ::zmq::error_t.
void protect_client(::zmq::socket_t& socket, const CurveKeys& keys);

}  // namespace trainyard::zmq
