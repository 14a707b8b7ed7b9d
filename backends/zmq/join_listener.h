// SPDX-License-Identifier: GPL-3.0-or-later
// The listener: the only process of a user that other machines connect to. It holds their agents
// before, between and after runs. Programs of this user reach it over a local socket
// (listener_messages.h). All connections of machines are encrypted by CURVE, and clients are
// admitted by key (core/session/hosts/admission.h). Single-threaded, but for the listener port and
// the handler of keys.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "core/base/result.h"

namespace trainyard::zmq {

struct ListenerOptions {
  std::string address{};  // numeric address of this machine
  int port = 0;
  std::string name{};                 // name of this machine
  std::filesystem::path directory{};  // of its socket and lock; mode 0700
  // Time without machines and invitations after which the listener ends.
  double idle_seconds = 3600;
  std::function<bool()> is_canceled{};
};

// Serves until it is stopped or idle. Problems: listener_runs, cannot_listen, bad_address,
// encryption_does_not_protect.
base::Result<void> run_listener(const ListenerOptions& options);

}  // namespace trainyard::zmq
