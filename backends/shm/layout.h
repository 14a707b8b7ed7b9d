// SPDX-License-Identifier: GPL-3.0-or-later
// Layout of the memfd: header | mailbox block | region of rank 0 (arena, staging) | region of rank
// 1 | ... All offsets are computed from the header. No offset is stored, because another process
// could damage it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/result.h"

namespace trainyard::shm {

struct Header {
  std::uint64_t magic = 0x6d68735f64726179;  // "yard_shm"
  std::uint32_t version = 1;
  std::uint32_t ranks = 0;
  std::uint32_t channels = 0;
  std::uint32_t reserved = 0;
  // In the file, the header is followed by the arena size of each rank (64 bits each).
};

struct Region {
  std::size_t offset = 0;
  std::size_t arena_bytes = 0;
  std::size_t staging_offset = 0;
  std::size_t end = 0;
};

struct Layout {
  int ranks = 0;
  int channels = 0;
  std::size_t block_offset = 0;
  std::size_t block_bytes = 0;
  std::vector<Region> regions;
  std::size_t bytes = 0;  // size of the file

  // Returns the offset in the memfd of a staging slot: the one with the index `slot`, for messages
  // from the rank of `region` to `peer` on `channel`.
  std::size_t staging_slot(const Region& region, int peer, int channel, std::uint64_t slot) const;
};

base::Result<Layout> lay_out(const std::vector<std::size_t>& arena_bytes, int channels);

// Reads the layout of an open file, after checking magic, version, bounds, size and seals.
base::Result<Layout> read_layout(int fd);
base::Result<void> write_header(int fd, const std::vector<std::size_t>& arena_bytes, int channels);

}  // namespace trainyard::shm
