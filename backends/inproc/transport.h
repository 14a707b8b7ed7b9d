// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks as threads of one process: a peer reads the poster's memory in place, wherever it lies.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/comm/bell.h"
#include "core/comm/transport.h"

namespace trainyard::inproc {

struct Options {
  int channels = 8;  // 0 .. channels - 1
  std::optional<comm::Patience> patience =
      {};  // of waits; absent: as many ranks on this machine need
};

// The ends of ranks 0 .. ranks - 1. What they share lives until the last end is destroyed, arenas
// included.
base::Result<std::vector<std::unique_ptr<comm::Transport>>> make(int ranks,
                                                                 std::size_t arena_bytes_each,
                                                                 Options options = {});

}  // namespace trainyard::inproc
