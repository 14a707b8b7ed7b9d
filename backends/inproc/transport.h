// SPDX-License-Identifier: GPL-3.0-or-later
// Transport between ranks that are threads of one process. A receiver reads the sender's memory in
// place, in an arena or outside it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/comm/futex_event.h"
#include "core/comm/transport.h"

namespace trainyard::inproc {

struct Options {
  int channels = 8;  // numbered 0 .. channels - 1
  // How long calls spin before they sleep. If nullopt, it is chosen from the number of ranks on
  // this machine.
  std::optional<comm::SpinPolicy> patience = {};
};

// Creates the transports of ranks 0 to ranks - 1. They share state, including arenas, which is
// freed when the last transport is destroyed.
base::Result<std::vector<std::unique_ptr<comm::Transport>>> make(int ranks,
                                                                 std::size_t arena_bytes_each,
                                                                 Options options = {});

}  // namespace trainyard::inproc
