// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks as threads of one process: a peer reads the poster's memory in place, wherever it lies.
#pragma once

#include <memory>
#include <vector>

#include "core/comm/transport.h"

namespace trainyard::inproc {

struct Options {
  int channels = 8;  // 0 .. channels - 1
};

// The ends of ranks 0 .. ranks - 1. What they share lives until the last end is destroyed, arenas included.
base::Result<std::vector<std::unique_ptr<comm::Transport>>> make(int ranks, std::size_t arena_bytes_each, Options options = {});

}  // namespace trainyard::inproc
