// SPDX-License-Identifier: GPL-3.0-or-later
// Assigns memory to every buffer of a rank: buffers that peers read go to a shared arena, all
// others to a private one. The second part of the shared arena may be on a device that all ranks
// access; the host only copies to and from it. Scratch buffers that only compute and copy lanes use
// may share addresses, if their live ranges do not overlap (core/plan/liveness.h). Offloaded
// buffers (plan::Place) are in host memory or in a file.
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/plan.h"

namespace trainyard::run {

struct Placement {
  bool shared = false;
  std::int64_t offset = 0;  // bytes from the start of its arena or file
  plan::MemoryKind place = plan::MemoryKind::device;
};

struct Layout {
  std::vector<Placement> buffers;                    // placements by buffer
  std::int64_t private_bytes = 0, shared_bytes = 0;  // sizes of the arenas on the device
  std::int64_t host_bytes = 0, disk_bytes = 0;       // sizes of offloaded memory
  // size of the first part of the shared arena, which the host also accesses
  std::int64_t shared_host_bytes = 0;
  // size of the first part of the private arena, which the host reads or writes between ops
  std::int64_t result_bytes = 0;
  std::int64_t scratch_first = 0;  // offset of scratch buffers in the private arena

  // Memory that the rank needs on its device. Everything that reports or limits a rank's memory
  // uses this number.
  std::int64_t device_bytes() const { return private_bytes + shared_bytes; }
};

inline constexpr std::int64_t kAlignment = 64;  // bytes; a cache line and an AVX-512 register

Layout layout(const plan::RankPlan& plan);

}  // namespace trainyard::run
