// SPDX-License-Identifier: GPL-3.0-or-later
// How control messages travel. The coordinator serves; ranks and viewers are clients. Implemented
// over ZeroMQ in backends/zmq and over queues in backends/inproc. An object is used by one thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/session/messages.h"

namespace trainyard::session {

using PeerId = std::string;  // who a message came from, so that it can be answered

struct Received {
  PeerId from;
  Message message;
};

class ControlServer {
 public:
  virtual ~ControlServer() = default;
  virtual std::string endpoint() const = 0;  // where clients connect
  // The next message, or nothing within `limit`. What cannot be decoded is dropped and counted.
  virtual base::Result<std::optional<Received>> receive(std::chrono::milliseconds limit) = 0;
  virtual void send(const PeerId& to, const Message& message) = 0;  // to one that is gone: dropped
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
