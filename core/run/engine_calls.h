// SPDX-License-Identifier: GPL-3.0-or-later
// The collectives of a rank that an engine takes whole. What happens within one - who is waited for, how much is sent - nobody
// reports: its peer counts as ready when it was handed over, and its bytes as unknown.
#pragma once

#include "core/comm/collectives.h"
#include "core/run/exchange.h"

namespace trainyard::run {

class EngineCalls final : public Exchange {
 public:
  explicit EngineCalls(comm::Collectives& engine, base::Reduction reduction = base::Reduction::sum);

  void start(const BoundOp& op, const plan::Frontier::Ready& ready) override;
  bool empty() const override { return under_way_.empty(); }
  int waits_for() const override { return -1; }
  const Transfer& oldest() const override { return under_way_.front(); }
  const Transfer& failed() const override { return under_way_[failed_]; }
  base::Result<bool> poll(std::vector<Transfer>& done, std::int64_t& busy_ns) override;
  bool wait(std::chrono::microseconds limit) override { return engine_.wait(limit); }
  base::Result<void> state() const override { return engine_.state(); }

 private:
  base::Result<bool> advance(Transfer& transfer);
  std::uint64_t& handed_over(int group);

  comm::Collectives& engine_;
  base::Reduction reduction_;
  std::vector<Transfer> under_way_;
  std::vector<std::uint64_t> handed_over_;  // by group
  std::size_t failed_ = 0;
};

}  // namespace trainyard::run
