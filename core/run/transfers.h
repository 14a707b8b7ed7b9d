// SPDX-License-Identifier: GPL-3.0-or-later
// The communication ops of a rank that are under way. A send is posted and watched until its peer has consumed it; a
// receive waits for its message and then reads it where it lies.
#pragma once

#include <vector>

#include "core/comm/transport.h"
#include "core/plan/frontier.h"
#include "core/run/bound_plan.h"

namespace trainyard::run {

struct Transfer {
  const BoundOp* op = nullptr;
  plan::Frontier::Ready ready;
  std::int64_t begin_ns = 0, ready_ns = 0;
  bool posted = false;
  std::uint64_t ticket = 0;  // of a send: complete when this many messages are consumed
};

class Transfers {
 public:
  Transfers(comm::Transport& transport, compute::Compute& compute, std::uint32_t generation);

  void start(const BoundOp& op, const plan::Frontier::Ready& ready);
  bool empty() const { return under_way_.empty(); }
  // A peer that something under way waits for; -1 when nothing is.
  int waits_for() const;
  const Transfer& oldest() const { return under_way_.front(); }
  // After `poll` failed: at which.
  const Transfer& failed() const { return under_way_[failed_]; }

  // Moves everything on that can move; completed ones are appended to `done` with their end still to be stamped.
  // `busy_ns` grows by the time spent moving and adding bytes. True when anything moved.
  base::Result<bool> poll(std::vector<Transfer>& done, std::int64_t& busy_ns);

 private:
  base::Result<bool> advance(Transfer& transfer, std::int64_t& busy_ns);
  base::Result<bool> advance_send(Transfer& transfer);
  base::Result<bool> advance_receive(Transfer& transfer, std::int64_t& busy_ns);
  base::Result<bool> receive(Transfer& transfer, std::int64_t& busy_ns);
  base::Result<bool> arrived(const Transfer& transfer, int peer, const std::byte*& bytes);
  // Messages between two ranks on one channel keep their order: a transfer waits while an older one has its turn.
  struct Line {
    std::uint64_t posted = 0;                             // messages so far
    std::uint64_t send_held_up = 0, receive_held_up = 0;  // the pass of `poll` in which an older transfer could not go on
  };
  Line& line(int peer, int channel);

  comm::Transport& transport_;
  compute::Compute& compute_;
  std::uint32_t generation_;
  std::vector<Transfer> under_way_;
  std::size_t failed_ = 0;
  std::vector<const std::byte*> sources_;
  std::vector<std::vector<Line>> lines_;  // by channel, by peer
  std::uint64_t pass_ = 0;                // of `poll`
};

}  // namespace trainyard::run
