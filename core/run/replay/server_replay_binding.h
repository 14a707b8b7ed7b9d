// SPDX-License-Identifier: GPL-3.0-or-later
// Binds all ranks of a training with servers (server_replay.h) to memory in one process, where
// ranks may share it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "core/run/bind/bound_rank.h"
#include "core/run/replay/server_replay.h"

namespace trainyard::run {

// Memory that ranks read from each other. It is one allocation, because many small allocations
// would use many pages.
struct SharedMemory {
  compute::Memory memory;
  std::int64_t taken = 0, all_bytes = 0;

  base::Result<void> make(const plan::Plan& plan, compute::Compute& compute);
  std::span<std::byte> take(std::int64_t bytes);
};

// Binds a rank to memory. `beside`: rank whose private memory is reused if it has the same size;
// may be null. `only_server`: the only server, whose parameters a worker may use in place; if null,
// the worker has its own copy.
base::Result<void> bind_rank(BoundRank& to, const ServedTrainingParts& parts, int rank,
                             const BoundRank* beside, SharedMemory& shared,
                             const BoundRank* only_server = nullptr);

}  // namespace trainyard::run
