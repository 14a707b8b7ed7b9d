// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks over TCP that train: with memory to train in.
#pragma once

#include <deque>

#include "tests/backends/zmq/tcp_pair.h"
#include "tests/conformance/training.h"
#include "tests/conformance/wrapped_transport.h"

namespace trainyard::tests {

// Sockets have no arena: the gradients lie in memory that outlives them, as what was posted last
// may still be on its way.
struct alignas(run::kAlignment) Line {
  std::byte bytes[run::kAlignment];
};
using Lines = std::vector<Line>;

class WithMemory final : public conformance::WrappedTransport {
 public:
  WithMemory(std::unique_ptr<comm::Transport> inner, std::span<std::byte> memory)
      : WrappedTransport(std::move(inner)), memory_(memory) {}
  std::span<std::byte> arena() override { return memory_; }

 private:
  std::span<std::byte> memory_;
};

inline std::vector<std::unique_ptr<comm::Transport>> over_sockets(
    int ranks, std::size_t arena_bytes, std::deque<Lines>& memory,
    const zmq::TransportOptions& options = {}) {
  std::vector<std::unique_ptr<comm::Transport>> ends;
  for (auto& end : conformance::tcp_ends(ranks, options)) {
    Lines& lines = memory.emplace_back(arena_bytes / sizeof(Line) + 1);
    ends.push_back(std::make_unique<WithMemory>(
        std::move(end), std::as_writable_bytes(std::span(lines)).first(arena_bytes)));
  }
  return ends;
}

}  // namespace trainyard::tests
