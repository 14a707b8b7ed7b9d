// SPDX-License-Identifier: GPL-3.0-or-later
// The communication ops of a rank that are under way, whoever carries them: a transport, chunk by
// chunk, or an engine that takes collectives whole.
#pragma once

#include <chrono>
#include <vector>

#include "core/plan/frontier.h"
#include "core/run/bound_plan.h"

namespace trainyard::run {

struct Transfer {
  const BoundOp* op = nullptr;
  plan::Frontier::Ready ready;
  std::int64_t begin_ns = 0, ready_ns = 0;
  bool posted = false;
  std::int64_t bytes = 0;    // payload that crosses to or from peers
  std::uint64_t ticket = 0;  // of a send: complete when this many messages are consumed; of a whole
                             // collective: calls of its group
};

class Exchange {
 public:
  virtual ~Exchange() = default;
  void start(const BoundOp& op, const plan::Frontier::Ready& ready);
  bool empty() const { return under_way_.empty(); }
  const Transfer& oldest() const { return under_way_.front(); }
  const Transfer& failed() const { return under_way_[failed_]; }  // after `poll` failed: at which

  // Moves everything on that can move; completed ones are appended to `done` with their end still
  // to be stamped. `busy_ns` grows by the time spent moving and adding bytes. True when anything
  // moved.
  base::Result<bool> poll(std::vector<Transfer>& done, std::int64_t& busy_ns);

  // A peer that something under way waits for; -1 when nothing is, or nobody says.
  virtual int waits_for() const = 0;
  // Until more may move, at the latest after `limit`. False: the limit passed.
  virtual bool wait(std::chrono::microseconds limit) = 0;
  // From any thread: who waits, or waits next, returns at once.
  virtual void wake() = 0;
  // Fails once the rank or a peer has aborted, or a peer was found dead.
  virtual base::Result<void> state() const = 0;

 protected:
  Exchange();
  std::uint64_t pass() const { return pass_; }  // of `poll`

 private:
  // True: it is complete.
  virtual base::Result<bool> advance(Transfer& transfer, std::int64_t& busy_ns) = 0;

  std::vector<Transfer> under_way_;
  std::size_t failed_ = 0;
  std::uint64_t pass_ = 0;
};

}  // namespace trainyard::run
