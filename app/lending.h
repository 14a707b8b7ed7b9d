// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks of one host that are all on GPUs lend each other memory there: of the arena that peers
// read, what the host touches by copies alone lies on the rank's GPU, and those of its peers read
// it where it is. A rank whose GPU a peer's does not reach keeps its arena in shared memory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/shm/transport.h"
#include "core/session/rank.h"

namespace trainyard::app {

// What a rank lends.
struct Lent {
  std::size_t from = 0, bytes = 0;  // of its arena
  compute::Lendable on_device;

  std::string endpoint() const;  // what peers borrow by
};

// Nothing where the rank has nothing to lend. A Problem says why it cannot: then all of it stays in
// shared memory.
base::Result<std::optional<Lent>> lend(const session::DataPlaneRequest& request);

// What all ranks lend, and what keeps it there.
struct Lendings {
  std::vector<shm::OnDevice> arenas;  // by rank
  std::vector<compute::Memory> borrowed;
};

// `endpoints` of all ranks, empty of those who lend nothing; `own` null of one. A Problem names the
// rank whose memory cannot be had.
base::Result<Lendings> borrow(const std::vector<std::string>& endpoints, int rank, const Lent* own,
                              compute::Compute& compute);

}  // namespace trainyard::app
