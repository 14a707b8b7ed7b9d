// SPDX-License-Identifier: GPL-3.0-or-later
// Common part of the transports within a host: a Transport over a mailbox. A derived class defines
// how posted bytes become a descriptor, and how a descriptor becomes bytes.
#pragma once

#include <utility>

#include "core/comm/mailbox.h"

namespace trainyard::comm {

class MailboxTransport : public Transport {
 public:
  int rank() const override { return mailbox_->rank(); }
  int ranks() const override { return mailbox_->block().ranks(); }
  base::Result<bool> post(int peer, int channel, Tag tag,
                          std::span<const std::byte> bytes) override;
  base::Result<std::uint64_t> consumed(int peer, int channel) override {
    return mailbox_->consumed(peer, channel);
  }
  base::Result<std::optional<Message>> receive(int peer, int channel) override;
  base::Result<void> release(int peer, int channel) override {
    return mailbox_->release(peer, channel);
  }
  bool wait(std::chrono::microseconds limit) override { return hear(limit); }
  void wake() override { mailbox_->wake(); }
  void abort(const base::Problem& reason) override { mailbox_->abort(reason); }
  base::Result<void> state() const override { return mailbox_->state(); }
  Traffic traffic(int peer) const override { return mailbox_->traffic(peer); }
  void allow_loss(int peer) override { mailbox_->allow_loss(peer); }
  bool has_lost(int peer) const override {
    return peer >= 0 && peer < ranks() && mailbox_->has_lost(peer);
  }
  base::Result<void> reconnect(int peer, std::uint32_t) override {
    return mailbox_->reconnect(peer), base::Result<void>{};
  }

 protected:
  // The derived class must keep the memory of `mailbox` mapped.
  explicit MailboxTransport(std::unique_ptr<Mailbox> mailbox) : mailbox_(std::move(mailbox)) {}
  // The destructor of a derived class must call this before it unmaps its memory.
  void leave() { mailbox_.reset(); }
  bool is_loss_allowed(int peer) const { return mailbox_->is_loss_allowed(peer); }
  // Waits for this rank's event; true if it was signaled.
  bool hear(std::chrono::microseconds limit) { return mailbox_->wait(limit); }

  struct Route {
    int peer = 0;
    int channel = 0;
    std::uint64_t slot = 0;
  };
  // Makes the bytes readable for the peer, and sets `place` and `staged` of the descriptor to the
  // location of the bytes.
  virtual base::Result<void> place(const Route& route, std::span<const std::byte> bytes,
                                   Descriptor& descriptor) = 0;
  // Returns the bytes of a descriptor from the peer of `route`; a Problem if the bytes are not in
  // the memory of this peer.
  virtual base::Result<std::span<const std::byte>> find(const Route& route,
                                                        const Descriptor& descriptor) = 0;

 private:
  std::unique_ptr<Mailbox> mailbox_;
};

}  // namespace trainyard::comm
