// SPDX-License-Identifier: GPL-3.0-or-later
// Runs programs that only communicate, to benchmark collectives. Uses the frontier and exchange of
// training steps. Single-threaded.
#pragma once

#include "core/plan/frontier.h"
#include "core/run/bind/bound_plan.h"
#include "core/run/exchange/exchange.h"

namespace trainyard::run {

class CollectiveRunner {
 public:
  // All arguments must outlive the runner. Every op of the plan must be a communication op that the
  // exchange supports. `mean_of`: number by which sums are divided at the end of a program, for
  // base::Reduction::mean on an exchange that only adds; 0: sums are not divided.
  CollectiveRunner(const plan::RankPlan& plan, const BoundPlan& bound, Exchange& exchange,
                   std::int64_t mean_of = 0);

  // Runs `program` once, as step `step`, and returns when peers have consumed all sends. All ranks
  // of the plan must do the same.
  base::Result<void> run(int program, std::int64_t step);

 private:
  void divide(int program);
  bool start_ready();
  base::Result<bool> progress();

  const plan::RankPlan& plan_;
  const BoundPlan& bound_;
  Exchange& exchange_;
  std::int64_t mean_of_;
  plan::Frontier frontier_;
  std::vector<Transfer> done_;
};

}  // namespace trainyard::run
