// SPDX-License-Identifier: GPL-3.0-or-later
// Runs programs that only communicate, by the same frontier and exchange as a training step: a
// collective by itself, to be measured. One thread.
#pragma once

#include "core/plan/frontier.h"
#include "core/run/bound_plan.h"
#include "core/run/exchange.h"

namespace trainyard::run {

class CollectiveRunner {
 public:
  // All must outlive the runner. Every op of the plan communicates, and the exchange can carry it
  // out. `mean_of`: by how many the sums are divided when a program is over (base::Reduction::mean
  // of an exchange that only adds); 0: not at all.
  CollectiveRunner(const plan::RankPlan& plan, const BoundPlan& bound, Exchange& exchange,
                   std::int64_t mean_of = 0);

  // Runs `program` once, as step `step`, to its end: what was sent is consumed too. All ranks of
  // the plan must do the same.
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
