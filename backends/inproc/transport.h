// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks as threads of one process. A peer reads the sender's memory in place, wherever it is.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/comm/futex_event.h"
#include "core/comm/transport.h"

namespace trainyard::inproc {

struct Options {
  int channels = 8;  // numbered 0 .. channels - 1
  // how long calls spin before they sleep; nullopt: chosen for the number of ranks on this machine
  std::optional<comm::SpinPolicy> patience = {};
};

// Creates the transports of ranks 0 to ranks - 1. Shared state, including arenas, is freed when the
// last of them is destroyed.
base::Result<std::vector<std::unique_ptr<comm::Transport>>> make(int ranks,
                                                                 std::size_t arena_bytes_each,
                                                                 Options options = {});

}  // namespace trainyard::inproc
