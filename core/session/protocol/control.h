// SPDX-License-Identifier: GPL-3.0-or-later
// Transport of control messages (interface). The coordinator is the server; ranks and viewers are
// clients. Implemented over ZeroMQ in backends/zmq and over queues in backends/inproc. Each object
// is used by one thread only.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/session/protocol/messages.h"

namespace trainyard::session {

using PeerId = std::string;  // Sender of a message, used as the address of the reply.

struct Received {
  PeerId from;
  Message message;
};

class ControlServer {
 public:
  virtual ~ControlServer() = default;
  virtual std::string endpoint() const = 0;  // Address that viewers connect to.
  // Address that ranks connect to.
  virtual std::string rank_endpoint() const { return endpoint(); }
  // Returns the next message, or nothing after `limit`. Messages that cannot be decoded are dropped
  // and counted.
  virtual base::Result<std::optional<Received>> receive(std::chrono::milliseconds limit) = 0;
  // From now on, `receive` also returns when this file descriptor is readable. A server whose ranks
  // are threads does not need it.
  virtual void wake_on(int /*descriptor*/) {}
  // Sends a message. Drops it if the peer is gone.
  virtual void send(const PeerId& to, const Message& message) = 0;
  virtual std::uint64_t malformed() const = 0;
};

class ControlClient {
 public:
  virtual ~ControlClient() = default;
  virtual base::Result<std::optional<Message>> receive(std::chrono::milliseconds limit) = 0;
  virtual base::Result<void> send(const Message& message) = 0;
};

using Connect =
    std::function<base::Result<std::unique_ptr<ControlClient>>(const std::string& endpoint)>;

}  // namespace trainyard::session
