// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/shm/layout.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "backends/shm/limits.h"
#include "core/comm/mailbox_block.h"

namespace trainyard::shm {
namespace {

using base::Problem;
using base::ProblemCode;
using base::Result;

// Alignment of arenas: the size of a large page, so that the kernel can use large pages.
constexpr std::size_t kLargePage = std::size_t{2} << 20;
constexpr std::size_t kMaxArenaBytes = std::size_t{1} << 42;

std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

Problem foreign(const std::string& what) {
  return {"foreign_memory",
          ProblemCode::bad_input,
          "shared memory",
          what,
          "the memfd that the launcher created",
          "Ranks are started by the coordinator, not by hand."};
}

bool read_at(int fd, void* into, std::size_t bytes, std::size_t offset) {
  return ::pread(fd, into, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
}

bool write_at(int fd, const void* from, std::size_t bytes, std::size_t offset) {
  return ::pwrite(fd, from, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
}

Region region_at(std::size_t offset, std::size_t arena_bytes, std::size_t staging_bytes) {
  Region region{offset, arena_bytes, offset + round_up(arena_bytes, 4096), 0};
  region.end = round_up(region.staging_offset + staging_bytes, kLargePage);
  return region;
}

Result<void> check_size(int fd, std::size_t expected) {
  struct stat status {};
  if (::fstat(fd, &status) != 0)
    return base::fail(
        base::system_problem("shared memory", "cannot get the state of the memfd", errno));
  if (static_cast<std::size_t>(status.st_size) != expected)
    return base::fail(foreign("the size of the file differs from its header"));
  // Requires that the file is sealed against shrinking. Otherwise a reader could access pages that
  // no longer exist.
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0)
    return base::fail(foreign("the file is not sealed"));
  return {};
}

}  // namespace

std::size_t Layout::staging_slot(const Region& region, int peer, int channel,
                                 std::uint64_t slot) const {
  const auto lane = static_cast<std::size_t>(peer) * static_cast<std::size_t>(channels) +
                    static_cast<std::size_t>(channel);
  return region.staging_offset + (lane * comm::kLaneSlots + slot) * kMaxStagedBytes;
}

Result<Layout> lay_out(const std::vector<std::size_t>& arena_bytes, int channels) {
  const auto wrong = [](const std::string& what, const std::string& accepted) {
    return base::fail({"bad_size", ProblemCode::bad_usage, "shared memory", what, accepted, ""});
  };
  if (arena_bytes.empty() || arena_bytes.size() > kMaxRanks)
    return wrong(fmt::format("there are {} ranks", arena_bytes.size()),
                 fmt::format("1 to {}", kMaxRanks));
  if (channels < 1 || channels > kMaxChannels)
    return wrong(fmt::format("there are {} channels", channels),
                 fmt::format("1 to {}", kMaxChannels));
  Layout layout;
  layout.ranks = static_cast<int>(arena_bytes.size());
  layout.channels = channels;
  layout.block_offset = round_up(sizeof(Header) + arena_bytes.size() * sizeof(std::uint64_t), 4096);
  layout.block_bytes = comm::MailboxBlock::bytes(layout.ranks, channels);
  layout.bytes = round_up(layout.block_offset + layout.block_bytes, kLargePage);
  const std::size_t staging_bytes =
      arena_bytes.size() * static_cast<std::size_t>(channels) * comm::kLaneSlots * kMaxStagedBytes;
  for (const std::size_t bytes : arena_bytes) {
    if (bytes > kMaxArenaBytes)
      return wrong(fmt::format("the shared memory of a rank has {} bytes", bytes), "up to 4 TiB");
    layout.regions.push_back(region_at(layout.bytes, bytes, staging_bytes));
    layout.bytes = layout.regions.back().end;
  }
  return layout;
}

Result<Layout> read_layout(int fd) {
  Header header;
  if (!read_at(fd, &header, sizeof header, 0))
    return base::fail(foreign("the file cannot be read as shared memory of ranks"));
  if (header.magic != Header{}.magic)
    return base::fail(foreign("the file is not shared memory of ranks"));
  if (header.version != Header{}.version)
    return base::fail(foreign(fmt::format("the file has version {}", header.version)));
  if (header.ranks < 1 || header.ranks > kMaxRanks)
    return base::fail(foreign(fmt::format("the header of the file states {} ranks", header.ranks)));
  std::vector<std::size_t> arena_bytes(header.ranks);
  if (!read_at(fd, arena_bytes.data(), arena_bytes.size() * sizeof(std::size_t), sizeof header))
    return base::fail(foreign("the file is truncated"));
  auto layout = lay_out(arena_bytes, static_cast<int>(header.channels));
  if (!layout) return layout;
  if (auto ok = check_size(fd, layout->bytes); !ok) return base::fail(ok.error());
  return layout;
}

Result<void> write_header(int fd, const std::vector<std::size_t>& arena_bytes, int channels) {
  Header header;
  header.ranks = static_cast<std::uint32_t>(arena_bytes.size());
  header.channels = static_cast<std::uint32_t>(channels);
  static_assert(sizeof(std::size_t) == sizeof(std::uint64_t));
  if (write_at(fd, &header, sizeof header, 0) &&
      write_at(fd, arena_bytes.data(), arena_bytes.size() * sizeof(std::size_t), sizeof header))
    return {};
  return base::fail(base::system_problem("shared memory", "cannot write the header", errno));
}

}  // namespace trainyard::shm
