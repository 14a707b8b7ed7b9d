// SPDX-License-Identifier: GPL-3.0-or-later
// A transport that imposes the drawn bandwidth and latency. A receiver does not see a message
// before the time at which the message's last bit arrives over the drawn links. The inner transport
// does everything else: it moves the bytes, defines where they are read, and counts them.
//
// This transport is never faster than the inner transport, because a message must also arrive over
// it. Headers use none of the drawn bandwidth, and acknowledgments ("consumed") take no time, as
// in the simulator.
//
// A waiting receiver sleeps until shortly before a message is due and then yields. So it is on time
// within microseconds if a core is free. A receiver that is busy, or on a busy machine, takes its
// message late. This does not reduce the bandwidth of other lanes, or of later messages on its
// lane.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "core/comm/shaped_links.h"
#include "core/comm/transport.h"

namespace trainyard::comm {

class ShapedTransport final : public Transport {
 public:
  // `links` must have the ranks and at least the channels of `inner`. `inner` must hold at most
  // LinkShares::kLaneMessages messages per channel.
  static base::Result<std::unique_ptr<Transport>> make(std::unique_ptr<Transport> inner,
                                                       std::shared_ptr<ShapedLinks> links);

  int rank() const override { return inner_->rank(); }
  int ranks() const override { return inner_->ranks(); }
  std::span<std::byte> arena() override { return inner_->arena(); }
  base::Result<bool> post(int peer, int channel, Tag tag,
                          std::span<const std::byte> bytes) override;
  base::Result<std::uint64_t> consumed(int peer, int channel) override {
    return inner_->consumed(peer, channel);
  }
  base::Result<std::optional<Message>> receive(int peer, int channel) override;
  base::Result<void> release(int peer, int channel) override;
  bool wait(std::chrono::microseconds limit) override;
  void wake() override { inner_->wake(); }
  void abort(const base::Problem& reason) override { inner_->abort(reason); }
  base::Result<void> state() const override { return inner_->state(); }
  Traffic traffic(int peer) const override { return inner_->traffic(peer); }
  void allow_loss(int peer) override { inner_->allow_loss(peer); }
  bool has_lost(int peer) const override { return inner_->has_lost(peer); }
  base::Result<void> reconnect(int peer, std::uint32_t generation) override;

 private:
  // Received message that is held back: the time until which it is held, and the thread that
  // receives it. Each lane has one receiving thread.
  struct Held {
    std::atomic<std::int64_t> until_ns{kNothing};
    std::atomic<const void*> thread{nullptr};
    bool seen = false;  // the hold has ended
  };
  static constexpr std::int64_t kNothing = std::numeric_limits<std::int64_t>::max();

  ShapedTransport(std::unique_ptr<Transport> inner, std::shared_ptr<ShapedLinks> links);
  Held& held(int peer, int channel) {
    return held_[static_cast<std::size_t>(peer) * static_cast<std::size_t>(channels_) +
                 static_cast<std::size_t>(channel)];
  }
  base::Result<bool> is_due(int peer, int channel);
  std::int64_t first_due() const;
  bool forget_due(std::int64_t now_ns);

  std::unique_ptr<Transport> inner_;
  std::shared_ptr<ShapedLinks> links_;
  int channels_;
  std::vector<Held> held_;
};

}  // namespace trainyard::comm
