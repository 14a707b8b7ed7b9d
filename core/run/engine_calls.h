// SPDX-License-Identifier: GPL-3.0-or-later
// The collectives of a rank that an engine takes whole. What happens within one - who is waited
// for, how much is sent - nobody reports: its peer counts as ready when it was handed over, and its
// bytes are those of the formula.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "core/comm/collectives.h"
#include "core/run/exchange.h"

namespace trainyard::run {

class EngineCalls final : public Exchange {
 public:
  explicit EngineCalls(comm::Collectives& engine, base::Reduction reduction = base::Reduction::sum)
      : engine_(engine), reduction_(reduction) {}

  int waits_for() const override { return -1; }
  bool wait(std::chrono::microseconds limit) override { return engine_.wait(limit); }
  void wake() override { engine_.wake(); }
  base::Result<void> state() const override { return engine_.state(); }

 private:
  base::Result<bool> advance(Transfer& transfer, std::int64_t& busy_ns) override;
  std::uint64_t& handed_over(int group);

  comm::Collectives& engine_;
  base::Reduction reduction_;
  std::map<int, std::uint64_t> handed_over_;  // by group
};

// What is asked, and told, while calls are made that are nobody's work.
struct Onlooker {
  std::function<void(int program, int op)> begins, ends;
  std::function<base::Result<void>()> may_go_on;  // while peers are waited for
};

// Before all else, one of each call that ops of the rank make, by group, kind, root and length: in
// one order on all members. What an engine connects, or asks memory for, when members exchange for
// the first time, is there then. What the buffers hold then, means nothing.
base::Result<void> make_each_call(comm::Collectives& engine, const BoundPlan& bound,
                                  const Onlooker& onlooker);

}  // namespace trainyard::run
