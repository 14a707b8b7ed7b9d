// SPDX-License-Identifier: GPL-3.0-or-later
// Communication ops of a rank that are in progress, over a transport (chunk by chunk) or an engine
// (a collective is one op).
#pragma once

#include <chrono>
#include <vector>

#include "core/plan/frontier.h"
#include "core/run/bind/bound_plan.h"

namespace trainyard::run {

struct Transfer {
  const BoundOp* op = nullptr;
  plan::Frontier::Ready ready;
  std::int64_t begin_ns = 0, ready_ns = 0;
  bool posted = false;
  std::int64_t bytes = 0;  // payload exchanged with peers
  // for a send: number of messages that the peer has consumed when the send is complete; for a
  // collective of an engine: index of the call in its group
  std::uint64_t ticket = 0;
};

class Exchange {
 public:
  virtual ~Exchange() = default;
  void start(const BoundOp& op, const plan::Frontier::Ready& ready);
  bool empty() const { return under_way_.empty(); }
  const Transfer& oldest() const { return under_way_.front(); }
  const Transfer& failed() const { return under_way_[failed_]; }  // transfer at which `poll` failed

  // Advances all transfers. Appends completed transfers to `done`; the caller sets their end time.
  // Adds the time spent on copying and summing bytes to `busy_ns`. Returns true if any transfer
  // advanced.
  base::Result<bool> poll(std::vector<Transfer>& done, std::int64_t& busy_ns);

  // Returns the rank of a peer that some transfer waits for; -1 if no transfer waits, or the peer
  // is unknown.
  virtual int waits_for() const = 0;
  // Waits until transfers may advance, but at most `limit`. Returns false on timeout.
  virtual bool wait(std::chrono::microseconds limit) = 0;
  // Makes the current or next wait return immediately. May be called by any thread.
  virtual void wake() = 0;
  // Returns a Problem after the rank or a peer aborted, or a peer died.
  virtual base::Result<void> state() const = 0;

 protected:
  Exchange();
  std::uint64_t pass() const { return pass_; }  // index of the current `poll`

 private:
  // Advances one transfer. Returns true if it is complete.
  virtual base::Result<bool> advance(Transfer& transfer, std::int64_t& busy_ns) = 0;

  std::vector<Transfer> under_way_;
  std::size_t failed_ = 0;
  std::uint64_t pass_ = 0;
};

}  // namespace trainyard::run
