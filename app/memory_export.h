// SPDX-License-Identifier: GPL-3.0-or-later
// GPU memory that ranks of one host share by CUDA IPC, if all ranks are on GPUs. One part of each
// arena is accessed by the host only through copies. That part is allocated on the rank's GPU, and
// the GPUs of peers read it in place. If a peer cannot access the rank's GPU, the rank's full arena
// stays in shared memory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/shm/transport.h"
#include "core/session/rank/rank.h"

namespace trainyard::app {

// Part of a rank's arena that the rank exports to its peers.
struct ExportedArena {
  std::size_t from = 0, bytes = 0;  // exported range of the arena
  compute::ExportedMemory on_device;

  std::string endpoint() const;  // returns the name by which peers import the memory
};

// Exports the part of the rank's arena that can be in GPU memory. Returns nullopt if there is no
// such part. Problem: the export failed; the full arena then stays in shared memory.
base::Result<std::optional<ExportedArena>> export_arena(const session::DataPlaneRequest& request);

// GPU memory that all ranks of a host export, and the imports that keep it mapped in this process.
struct ImportedArenas {
  std::vector<shm::DeviceArena> arenas;  // by rank
  std::vector<compute::Memory> imported;
};

// Imports the memory of all ranks. `endpoints` has one entry per rank; the entry of a rank that
// exports nothing is empty. `own` is null if this rank exports nothing. A Problem names the rank
// whose memory cannot be imported.
base::Result<ImportedArenas> import_memory(const std::vector<std::string>& endpoints, int rank,
                                           const ExportedArena* own, compute::Compute& compute);

}  // namespace trainyard::app
