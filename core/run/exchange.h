// SPDX-License-Identifier: GPL-3.0-or-later
// The communication ops of a rank that are under way, whoever carries them: a transport, chunk by chunk, or an engine that takes
// collectives whole.
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
  std::uint64_t ticket = 0;  // of a send: complete when this many messages are consumed; of a whole collective: calls of its group
};

class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual void start(const BoundOp& op, const plan::Frontier::Ready& ready) = 0;
  virtual bool empty() const = 0;
  // A peer that something under way waits for; -1 when nothing is, or nobody says.
  virtual int waits_for() const = 0;
  virtual const Transfer& oldest() const = 0;
  // After `poll` failed: at which.
  virtual const Transfer& failed() const = 0;

  // Moves everything on that can move; completed ones are appended to `done` with their end still to be stamped.
  // `busy_ns` grows by the time spent moving and adding bytes. True when anything moved.
  virtual base::Result<bool> poll(std::vector<Transfer>& done, std::int64_t& busy_ns) = 0;
  // Until more may move, at the latest after `limit`. False: the limit passed.
  virtual bool wait(std::chrono::microseconds limit) = 0;
  // Fails once the rank or a peer has aborted, or a peer was found dead.
  virtual base::Result<void> state() const = 0;
};

}  // namespace trainyard::run
