// SPDX-License-Identifier: GPL-3.0-or-later
// A transport composed of several, each of which serves some peers: for example, shared memory
// within a host, and sockets between hosts.
#pragma once

#include <memory>
#include <vector>

#include "core/comm/transport.h"

namespace trainyard::comm {

class RoutedTransport final : public Transport {
 public:
  // `parts`: transports of the same rank, for the same number of ranks. `route[peer]`: index of the
  // transport that reaches the peer; the entry of this rank is ignored. An abort in one transport
  // aborts the others.
  static base::Result<std::unique_ptr<Transport>> make(
      std::vector<std::unique_ptr<Transport>> parts, std::vector<int> route);

  ~RoutedTransport() override;
  int rank() const override { return parts_.front()->rank(); }
  int ranks() const override { return parts_.front()->ranks(); }
  std::span<std::byte> arena() override;  // returns the arena of the first part that has one
  base::Result<bool> post(int peer, int channel, Tag tag,
                          std::span<const std::byte> bytes) override;
  base::Result<std::uint64_t> consumed(int peer, int channel) override;
  base::Result<std::optional<Message>> receive(int peer, int channel) override;
  base::Result<void> release(int peer, int channel) override;
  bool wait(std::chrono::microseconds limit) override;
  void wake() override;
  void abort(const base::Problem& reason) override;
  base::Result<void> state() const override;
  Traffic traffic(int peer) const override;
  void allow_loss(int peer) override;
  bool has_lost(int peer) const override;
  base::Result<void> reconnect(int peer, std::uint32_t generation) override;

 private:
  RoutedTransport(std::vector<std::unique_ptr<Transport>> parts, std::vector<int> route)
      : parts_(std::move(parts)), route_(std::move(route)) {}
  base::Result<Transport*> part_of(int peer) const;
  bool wait_in_turn(std::chrono::microseconds limit);
  void spread_abort();

  std::vector<std::unique_ptr<Transport>> parts_;
  std::vector<int> route_;
};

}  // namespace trainyard::comm
