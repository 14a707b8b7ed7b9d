// SPDX-License-Identifier: GPL-3.0-or-later
// Relays of control messages (interface). The ranks of a remote host connect to their agent. The
// agent passes their frames on to the coordinator's host, where a relay connects to the coordinator
// once for each of these ranks' connections. So neither ranks nor coordinator see a difference.
// Frames are not changed. Used by one thread.
#pragma once

#include <poll.h>

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/session/protocol/control.h"

namespace trainyard::session {

struct RelayedFrame {
  PeerId peer;        // connection of a rank
  std::string bytes;  // one control message
  bool is_heartbeat = false;
};

enum class Congestion {
  none,
  some,  // drop events of ops; all numbers of steps pass, so loss, samples and totals are complete
  severe,  // drop all events
};

class Relay {
 public:
  virtual ~Relay() = default;
  // Returns the next frame; nothing if none has arrived. If the way on is congested, drops
  // telemetry events; later events of the same peer state how many.
  virtual std::optional<RelayedFrame> receive(Congestion congestion) = 0;
  // Passes a frame on. Drops it if the peer is gone or its queue is full.
  virtual void send(const PeerId& peer, std::string_view bytes) = 0;
  // Waits for a frame, for one of `also`, or for the limit. Fills in `revents`.
  virtual base::Result<void> wait(std::span<pollfd> also, std::chrono::milliseconds limit) = 0;
};

}  // namespace trainyard::session
