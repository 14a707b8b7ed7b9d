// SPDX-License-Identifier: GPL-3.0-or-later
// Makes this machine available to a listener (trainyard-agent join): starts an agent for each
// session that a coordinator opens.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/session/hosts/invitation.h"

namespace trainyard::app {

// Offer to which the person at this machine agrees.
struct JoinOffer {
  std::string name{};  // of this machine
  std::int64_t cores = 1, memory_bytes = 0;
  double hours = 8;
};

struct JoinOptions {
  session::Invitation invitation{};
  JoinOffer offer{};
  bool as_root = false;
  // Asks for consent, after the listener's key was verified.
  std::function<bool(const JoinOffer& offer)> consents{};
  std::function<void(const std::string& text)> report{};
  std::function<bool()> is_canceled{};
};

// Serves until the agreed time is over, the listener ends, or the user cancels. Limits this process
// and all that it starts to the offered cores and memory. Problems: those of zmq::join, canceled,
// listener_lost, listener_refuses.
base::Result<void> join_listener(const JoinOptions& options);

}  // namespace trainyard::app
