// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/inproc/transport.h"

#include <fmt/core.h>

#include <string>

#include "core/comm/mailbox_transport.h"
#include "core/comm/memory_map.h"

namespace trainyard::inproc {
namespace {

using base::Result;
using comm::Descriptor;
using comm::MemoryMap;

struct Arenas {
  MemoryMap block;
  std::vector<MemoryMap> arenas;
};

class Transport final : public comm::MailboxTransport {
 public:
  Transport(std::unique_ptr<comm::Mailbox> mailbox, std::shared_ptr<Arenas> shared)
      : MailboxTransport(std::move(mailbox)), shared_(std::move(shared)) {}
  ~Transport() override { leave(); }

  std::span<std::byte> arena() override {
    return shared_->arenas[static_cast<std::size_t>(rank())].bytes();
  }

 protected:
  Result<void> place(const Route&, std::span<const std::byte> bytes,
                     Descriptor& descriptor) override {
    descriptor.place = reinterpret_cast<std::uintptr_t>(bytes.data());
    return {};
  }
  Result<std::span<const std::byte>> find(const Route&, const Descriptor& descriptor) override {
    return std::span(
        reinterpret_cast<const std::byte*>(static_cast<std::uintptr_t>(descriptor.place)),
        descriptor.bytes);
  }

 private:
  std::shared_ptr<Arenas> shared_;
};

Result<std::shared_ptr<Arenas>> share(int ranks, std::size_t arena_bytes_each, int channels) {
  auto shared = std::make_shared<Arenas>();
  auto block = MemoryMap::anonymous(comm::MailboxBlock::bytes(ranks, channels));
  if (!block) return base::fail(block.error());
  shared->block = std::move(*block);
  for (int rank = 0; rank < ranks; ++rank) {
    auto arena = MemoryMap::anonymous(arena_bytes_each);
    if (!arena) return base::fail(arena.error());
    shared->arenas.push_back(std::move(*arena));
  }
  return shared;
}

}  // namespace

Result<std::vector<std::unique_ptr<comm::Transport>>> make(int ranks, std::size_t arena_bytes_each,
                                                           Options options) {
  if (ranks < 1 || options.channels < 1)
    return base::fail(
        {"bad_size", base::ProblemCode::bad_usage, "inproc transport",
         fmt::format("cannot be created for {} ranks and {} channels", ranks, options.channels),
         "1 or more of each", ""});
  auto shared = share(ranks, arena_bytes_each, options.channels);
  if (!shared) return base::fail(shared.error());
  const auto block = comm::MailboxBlock::format((*shared)->block.bytes(), ranks, options.channels);
  std::vector<std::unique_ptr<comm::Transport>> ends;
  for (int rank = 0; rank < ranks; ++rank) {
    auto mailbox =
        comm::Mailbox::open(block, rank, options.patience.value_or(comm::patience(ranks)), 0, 0);
    if (!mailbox) return base::fail(mailbox.error());
    ends.push_back(std::make_unique<Transport>(std::move(*mailbox), *shared));
  }
  return ends;
}

}  // namespace trainyard::inproc
