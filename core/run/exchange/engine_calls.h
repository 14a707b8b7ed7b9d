// SPDX-License-Identifier: GPL-3.0-or-later
// Collectives of a rank that an engine runs. An engine does not report waiting or traffic. So peers
// count as ready when the call is submitted, and bytes come from a formula.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "core/comm/collectives.h"
#include "core/run/exchange/exchange.h"

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
  std::map<int, std::uint64_t> submitted_;  // number of submitted calls, by group
};

// Callbacks of a warm-up.
struct WarmUpCallbacks {
  std::function<void(int program, int op)> begins, ends;
  // called while the rank waits for peers; a Problem ends the wait
  std::function<base::Result<void>()> may_continue;
};

// Warms up an engine: makes one call for each distinct combination of group, kind, root and length
// among the rank's ops. Connections and memory that the engine creates on first use then exist
// before training. All members of a group make the calls in the same order. Buffer contents are
// undefined afterwards.
base::Result<void> warm_up_engine(comm::Collectives& engine, const BoundPlan& bound,
                                  const WarmUpCallbacks& onlooker);

}  // namespace trainyard::run
