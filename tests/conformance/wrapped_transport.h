// SPDX-License-Identifier: GPL-3.0-or-later
// A transport around another, for a test that changes one thing of it.
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "core/comm/transport.h"

namespace trainyard::conformance {

class WrappedTransport : public comm::Transport {
 public:
  explicit WrappedTransport(std::unique_ptr<comm::Transport> inner) : inner_(std::move(inner)) {}

  int rank() const override { return inner_->rank(); }
  int ranks() const override { return inner_->ranks(); }
  std::span<std::byte> arena() override { return inner_->arena(); }
  base::Result<bool> post(int peer, int channel, comm::Tag tag,
                          std::span<const std::byte> bytes) override {
    return inner_->post(peer, channel, tag, bytes);
  }
  base::Result<std::uint64_t> consumed(int peer, int channel) override {
    return inner_->consumed(peer, channel);
  }
  base::Result<std::optional<comm::Message>> receive(int peer, int channel) override {
    return inner_->receive(peer, channel);
  }
  base::Result<void> release(int peer, int channel) override {
    return inner_->release(peer, channel);
  }
  bool wait(std::chrono::microseconds limit) override { return inner_->wait(limit); }
  void wake() override { inner_->wake(); }
  void abort(const base::Problem& reason) override { inner_->abort(reason); }
  base::Result<void> state() const override { return inner_->state(); }
  comm::Traffic traffic(int peer) const override { return inner_->traffic(peer); }
  void allow_loss(int peer) override { inner_->allow_loss(peer); }
  bool has_lost(int peer) const override { return inner_->has_lost(peer); }
  base::Result<void> reconnect(int peer, std::uint32_t generation) override {
    return inner_->reconnect(peer, generation);
  }

 protected:
  comm::Transport& inner() { return *inner_; }
  std::unique_ptr<comm::Transport> take() { return std::move(inner_); }

 private:
  std::unique_ptr<comm::Transport> inner_;
};

// Sends, as sockets may, when it is about to go: reads again what was last posted to each peer.
class LateTransport final : public WrappedTransport {
 public:
  using WrappedTransport::WrappedTransport;
  ~LateTransport() override {
    for (const auto& [peer, bytes] : last_)
      for (const std::byte byte : bytes) read_ = read_ ^ byte;
  }
  std::span<std::byte> arena() override { return {}; }
  base::Result<bool> post(int peer, int channel, comm::Tag tag,
                          std::span<const std::byte> bytes) override {
    last_[peer] = bytes;
    return inner().post(peer, channel, tag, bytes);
  }

 private:
  std::map<int, std::span<const std::byte>> last_;
  volatile std::byte read_{0};
};

}  // namespace trainyard::conformance
