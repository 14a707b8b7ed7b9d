// SPDX-License-Identifier: GPL-3.0-or-later
// Where every buffer of a rank lies: those that peers read in a shared arena, all others in a
// private one. Of the shared arena the latter part may lie on a device that all of them reach: what
// the host touches by copies alone. Scratch that only compute and copy lanes touch shares addresses
// where lives do not meet (core/plan/lives.h). What is put aside (plan::Place) lies apart from the
// device: in the host's memory, and in a file.
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/plan.h"

namespace trainyard::run {

struct Placement {
  bool shared = false;
  std::int64_t offset = 0;  // bytes from the start of its arena, or file
  plan::Place place = plan::Place::device;
};

struct Layout {
  std::vector<Placement> buffers;                    // by buffer
  std::int64_t private_bytes = 0, shared_bytes = 0;  // on the device
  std::int64_t host_bytes = 0, disk_bytes = 0;       // put aside
  std::int64_t shared_host_bytes = 0;  // the first of the shared arena: what the host touches, too
  std::int64_t result_bytes =
      0;  // the first of the private arena: what the host looks at, or writes, between ops
  std::int64_t scratch_first = 0;  // of the private arena: from here on lies scratch
};

inline constexpr std::int64_t kAlignment = 64;  // bytes; a cache line and an AVX-512 register

Layout layout(const plan::RankPlan& plan);

}  // namespace trainyard::run
