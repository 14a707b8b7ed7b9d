// SPDX-License-Identifier: GPL-3.0-or-later
// Communication ops of a rank that are in progress, over a transport. A send is posted and stays in
// progress until its peer has consumed it; a receive waits for its message and then reads it in
// place.
#pragma once

#include <vector>

#include "core/base/reduction.h"
#include "core/comm/transport.h"
#include "core/run/exchange/exchange.h"

namespace trainyard::run {

class Transfers final : public Exchange {
 public:
  // `reduction`: operation by which received data is combined. For a mean, transfers only add
  // values; the caller divides the sums.
  Transfers(comm::Transport& transport, compute::Compute& compute, std::uint32_t generation,
            base::Reduction reduction = base::Reduction::sum);

  int waits_for() const override;
  bool wait(std::chrono::microseconds limit) override { return transport_.wait(limit); }
  void wake() override { transport_.wake(); }
  base::Result<void> state() const override { return transport_.state(); }

 private:
  base::Result<bool> advance(Transfer& transfer, std::int64_t& busy_ns) override;
  base::Result<bool> advance_send(Transfer& transfer);
  base::Result<bool> advance_receive(Transfer& transfer, std::int64_t& busy_ns);
  base::Result<bool> receive(Transfer& transfer, std::int64_t& busy_ns);
  std::int64_t take_rows(const BoundOp& op, const std::byte* rows);
  base::Result<bool> arrived(const Transfer& transfer, int peer, const std::byte*& bytes);
  // Queue of messages to one peer on one channel. Messages keep their order: a transfer waits until
  // older transfers of the queue are posted or received.
  struct Line {
    // number of messages posted to the peer, and received from it
    std::uint64_t posted = 0, taken = 0;
    std::uint64_t send_held_up = 0,
                  receive_held_up =
                      0;  // last `poll` pass in which an older transfer of the line was blocked
  };
  Line& line(int peer, int channel);
  static std::span<const int> peers_of(const Transfer& transfer) {
    return transfer.op->peers_in(transfer.ready.step);
  }
  comm::Tag tag_of(const Transfer& transfer, std::uint64_t passed) const;

  comm::Transport& transport_;
  compute::Compute& compute_;
  std::uint32_t generation_;
  base::Reduction reduction_;
  std::vector<const std::byte*> sources_;
  std::vector<std::vector<Line>> lines_;  // queues by channel and peer
};

}  // namespace trainyard::run
