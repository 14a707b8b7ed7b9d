// SPDX-License-Identifier: GPL-3.0-or-later
// The connection of a joined machine to the listener that invited it.
#pragma once

#include <poll.h>

#include <chrono>
#include <memory>
#include <optional>
#include <span>

#include "core/session/hosts/invitation.h"
#include "core/session/hosts/join_messages.h"

namespace trainyard::zmq {

class JoinConnection {
 public:
  virtual ~JoinConnection() = default;
  virtual void send(const session::JoinFrame& frame) = 0;
  // Returns the next frame; nothing if none has arrived.
  virtual std::optional<session::JoinFrame> receive() = 0;
  // Waits for a frame, for one of `also`, or for the limit.
  virtual base::Result<void> wait(std::span<pollfd> also, std::chrono::milliseconds limit) = 0;
};

struct Joined {
  std::string name{}, listener{};  // as JoinAccepted
  std::string address{};           // numeric address of the listener
  std::unique_ptr<JoinConnection> connection;
};

// The listener's key, as its port sends it to anyone.
struct ListenerKey {
  std::string address{};     // numeric address that answered
  std::string public_key{};  // Z85
};

// Fetches the key, and compares it with the fingerprint of the invitation. Problems:
// host_name_unknown, listener_unreachable, listener_differs.
base::Result<ListenerKey> fetch_listener_key(const session::Invitation& invitation);

// Joins. The keys of the connection are made here; `request` needs none. Problems:
// invitation_refused, and those of Admission::join.
base::Result<Joined> join(const session::Invitation& invitation, const ListenerKey& key,
                          session::JoinRequest request);

}  // namespace trainyard::zmq
