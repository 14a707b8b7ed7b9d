// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/shm/transport.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "backends/shm/layout.h"
#include "backends/shm/process.h"
#include "core/base/clock.h"
#include "core/base/units.h"
#include "core/comm/mailbox_transport.h"
#include "core/comm/memory_map.h"

namespace trainyard::shm {
namespace {

using base::Problem;
using base::ProblemCode;
using base::Result;
using comm::Descriptor;
using comm::MailboxBlock;
using comm::MemoryMap;
using std::chrono::microseconds;

constexpr std::int64_t kLookForTheDeadEveryNs = 50'000'000;

std::string rank_name(int rank) { return fmt::format("rank {}", rank); }

class MemfdTransport final : public Transport {
 public:
  MemfdTransport(std::unique_ptr<comm::Mailbox> mailbox, MailboxBlock block, MemoryMap memory,
                 Layout layout)
      : Transport(std::move(mailbox)),
        block_(block),
        memory_(std::move(memory)),
        layout_(std::move(layout)),
        on_device_(static_cast<std::size_t>(layout_.ranks)) {}
  ~MemfdTransport() override { leave(); }

  std::span<std::byte> arena() override {
    return memory_.bytes().subspan(region(rank()).offset, region(rank()).arena_bytes);
  }

  Result<void> set_device_arenas(std::vector<DeviceArena> arenas) override {
    bool fits = arenas.size() == on_device_.size();
    for (std::size_t r = 0; fits && r < arenas.size(); ++r) {
      const std::size_t arena = layout_.regions[r].arena_bytes;
      fits = arenas[r].memory.empty() ||
             (arenas[r].from <= arena && arenas[r].memory.size() == arena - arenas[r].from);
    }
    if (!fits)
      return base::fail({"arenas_differ", ProblemCode::failed, rank_name(rank()),
                         "device memory and shared memory of a rank have different sizes", "", ""});
    on_device_ = std::move(arenas);
    return {};
  }

  bool wait(microseconds limit) override {
    const microseconds slice(kLookForTheDeadEveryNs / 1000);
    const auto end = base::now_nanoseconds() + limit.count() * 1000;
    for (;;) {
      const microseconds left((end - base::now_nanoseconds()) / 1000);
      const bool notified = hear(std::clamp(left, microseconds(0), slice));
      check_peers();
      if (notified || left <= slice) return notified;
    }
  }

 protected:
  Result<void> place(const Route& route, std::span<const std::byte> bytes,
                     Descriptor& descriptor) override {
    const DeviceArena& device = on_device_[static_cast<std::size_t>(rank())];
    if (const auto inside = offset_in(device.memory, bytes))
      return descriptor.place = device.from + *inside, Result<void>();
    if (const auto inside = offset_in(arena(), bytes))
      return descriptor.place = *inside, Result<void>();
    if (bytes.size() > kMaxStagedBytes) return base::fail(too_long_to_stage(bytes.size()));
    const std::size_t slot =
        layout_.staging_slot(region(rank()), route.peer, route.channel, route.slot);
    std::memcpy(memory_.bytes().data() + slot, bytes.data(), bytes.size());
    descriptor.staged = 1;
    return {};
  }

  Result<std::span<const std::byte>> find(const Route& route,
                                          const Descriptor& descriptor) override {
    const Region& from = region(route.peer);
    const std::uint64_t room = descriptor.staged != 0 ? kMaxStagedBytes : from.arena_bytes;
    const std::uint64_t place = descriptor.staged != 0 ? 0 : descriptor.place;
    if (place > room || descriptor.bytes > room - place)
      return base::fail(outside(route.peer, descriptor));
    const DeviceArena& device = on_device_[static_cast<std::size_t>(route.peer)];
    if (descriptor.staged == 0 && !device.memory.empty() &&
        place + descriptor.bytes > device.from) {
      if (place < device.from) return base::fail(outside(route.peer, descriptor));
      return device.memory.subspan(place - device.from, descriptor.bytes);
    }
    const std::size_t start = descriptor.staged != 0
                                  ? layout_.staging_slot(from, rank(), route.channel, route.slot)
                                  : from.offset + place;
    return memory_.bytes().subspan(start, descriptor.bytes);
  }

 private:
  static std::optional<std::size_t> offset_in(std::span<const std::byte> memory,
                                              std::span<const std::byte> bytes) {
    const auto inside = reinterpret_cast<std::uintptr_t>(bytes.data()) -
                        reinterpret_cast<std::uintptr_t>(memory.data());
    return !memory.empty() && inside <= memory.size() && bytes.size() <= memory.size() - inside
               ? std::optional<std::size_t>(inside)
               : std::nullopt;
  }
  const Region& region(int rank) const { return layout_.regions[static_cast<std::size_t>(rank)]; }

  Problem too_long_to_stage(std::size_t bytes) const {
    return {
        "message_too_long",
        ProblemCode::bad_usage,
        rank_name(rank()),
        fmt::format("{} were posted from outside the shared memory",
                    base::format_bytes(static_cast<double>(bytes))),
        fmt::format("up to {} from outside the shared memory", base::format_bytes(kMaxStagedBytes)),
        "Place the buffer in the shared memory of the rank."};
  }
  Problem outside(int peer, const Descriptor& descriptor) const {
    return {"message_outside_arena",
            ProblemCode::failed,
            rank_name(rank()),
            fmt::format("{} posted {} bytes that are outside its shared memory", rank_name(peer),
                        descriptor.bytes),
            "",
            ""};
  }

  void check_peers() {
    const std::int64_t now = base::now_nanoseconds();
    std::int64_t next = next_look_.load(std::memory_order_relaxed);
    if (now < next || !next_look_.compare_exchange_strong(next, now + kLookForTheDeadEveryNs))
      return;
    for (int peer = 0; peer < ranks(); ++peer) {
      const auto died = peer == rank() ? std::nullopt : death_of(peer);
      if (!died) continue;
      if (is_loss_allowed(peer)) mark_left(peer, *died);
      else
        abort({"peer_lost", ProblemCode::failed, rank_name(peer), "the process ended unexpectedly",
               "",
               "See the log of the rank. The system journal lists processes that were killed "
               "because memory ran out."});
    }
  }

  // Marks a dead peer as having left, and notifies all ranks. If several ranks detect the death,
  // only the first one changes the presence counter.
  void mark_left(int peer, std::uint32_t moves) {
    block_.presence(peer).moves.compare_exchange_strong(moves, moves + 1);
    block_.notify_all_ranks();
  }

  // Returns the peer's presence counter if the peer died without leaving. Returns nullopt if the
  // peer is alive or has left.
  std::optional<std::uint32_t> death_of(int peer) const {
    const comm::Presence& presence = block_.presence(peer);
    const std::uint32_t moves = presence.moves.load(std::memory_order_acquire);
    if (moves % 2 == 0) return std::nullopt;
    if (runs({presence.process.load(std::memory_order_relaxed),
              presence.process_start.load(std::memory_order_relaxed)}))
      return std::nullopt;
    const bool still = presence.moves.load(std::memory_order_acquire) ==
                       moves;  // otherwise the peer left normally before its process ended
    return still ? std::optional(moves) : std::nullopt;
  }

  MailboxBlock block_;
  MemoryMap memory_;
  Layout layout_;
  std::vector<DeviceArena> on_device_;  // device memory of all ranks, by rank
  std::atomic<std::int64_t> next_look_{0};
};

Problem cannot(const char* what) { return base::system_problem("shared memory", what, errno); }

Result<int> make_file(const Layout& layout) {
  const int fd = ::memfd_create("trainyard", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return base::fail(cannot("cannot create a memfd"));
  const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (::ftruncate(fd, static_cast<off_t>(layout.bytes)) == 0 &&
      ::fcntl(fd, F_ADD_SEALS, seals) == 0)
    return fd;
  const Problem problem = cannot("cannot set the size of the memfd and seal it");
  ::close(fd);
  return base::fail(problem);
}

Result<void> fill_file(int fd, const Layout& layout, const std::vector<std::size_t>& arena_bytes) {
  auto map = MemoryMap::of_file(fd, layout.block_offset + layout.block_bytes);
  if (!map) return base::fail(map.error());
  MailboxBlock::format(map->bytes().subspan(layout.block_offset, layout.block_bytes), layout.ranks,
                       layout.channels);
  return write_header(fd, arena_bytes, layout.channels);
}

MailboxBlock block_in(const MemoryMap& map, const Layout& layout) {
  return {map.bytes().subspan(layout.block_offset, layout.block_bytes), layout.ranks,
          layout.channels};
}

// Makes peers' arenas read-only, so that a stray write into one crashes this process instead of
// changing a peer's data. Also requests large pages, which avoid most page faults of readers; small
// pages work too.
bool protect_peers(std::span<std::byte> memory, const Layout& layout, int rank) {
  const Region& own = layout.regions[static_cast<std::size_t>(rank)];
  const std::size_t first = layout.regions.front().offset;
  ::madvise(memory.data() + first, memory.size() - first, MADV_HUGEPAGE);
  const auto read_only = [&](std::size_t from, std::size_t to) {
    return from == to || ::mprotect(memory.data() + from, to - from, PROT_READ) == 0;
  };
  return read_only(first, own.offset) && read_only(own.end, memory.size());
}

}  // namespace

Result<int> create(const std::vector<std::size_t>& arena_bytes, int channels) {
  const auto layout = lay_out(arena_bytes, channels);
  if (!layout) return base::fail(layout.error());
  auto fd = make_file(*layout);
  if (!fd) return fd;
  if (auto ok = fill_file(*fd, *layout, arena_bytes); !ok) {
    ::close(*fd);
    return base::fail(ok.error());
  }
  return fd;
}

namespace {

// Marks the earlier process of a rank as having left, if it ended without doing so. Peers do that,
// too, but a rank may be the only one that uses this memory.
void mark_dead_process_left(comm::Presence& presence) {
  std::uint32_t moves = presence.moves.load(std::memory_order_acquire);
  if (moves % 2 == 1 && !runs({presence.process.load(std::memory_order_relaxed),
                               presence.process_start.load(std::memory_order_relaxed)}))
    presence.moves.compare_exchange_strong(moves, moves + 1);
}

}  // namespace

Result<std::unique_ptr<Transport>> open(int fd, int rank, std::optional<comm::SpinPolicy> patience,
                                        bool takes_place) {
  auto layout = read_layout(fd);
  if (!layout) return base::fail(layout.error());
  auto map = MemoryMap::of_file(fd, layout->bytes);
  if (!map) return base::fail(map.error());
  const MailboxBlock block = block_in(*map, *layout);
  const ProcessIdentity process = this_process();
  if (takes_place && rank >= 0 && rank < block.ranks())
    mark_dead_process_left(block.presence(rank));
  auto mailbox = comm::Mailbox::open(block, rank, patience.value_or(comm::patience(layout->ranks)),
                                     process.id, process.start, takes_place);
  if (!mailbox) return base::fail(mailbox.error());
  if (!protect_peers(map->bytes(), *layout, rank))
    return base::fail(cannot("cannot make the shared memory of peers read-only"));
  return std::make_unique<MemfdTransport>(std::move(*mailbox), block, std::move(*map),
                                          std::move(*layout));
}

Result<void> abort_all(int fd, const Problem& reason) {
  const auto layout = read_layout(fd);
  if (!layout) return base::fail(layout.error());
  const auto map = MemoryMap::of_file(fd, layout->block_offset + layout->block_bytes);
  if (!map) return base::fail(map.error());
  block_in(*map, *layout).abort(reason);
  return {};
}

}  // namespace trainyard::shm
