// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/plan/simulated_time.h"

#include "core/base/json.h"
#include "core/experiment/imposed.h"
#include "core/session/rank/recipe.h"
#include "core/strategy/strategy.h"

namespace trainyard::ui {

base::Result<SimulatedTime> simulated_time(const base::Json& recorded_experiment,
                                           std::stop_token stop) {
  const auto resolved = experiment::resolved_from_json(recorded_experiment);
  if (!resolved) return base::fail(resolved.error());
  const auto plan = strategy::make_plan(*resolved);
  if (!plan) return base::fail(plan.error());
  sim::Options options;
  options.watch.stop = std::move(stop);
  options.seed = resolved->document.training.seed;
  auto counts = session::row_counts(*resolved, *plan);
  if (!counts) return base::fail(counts.error());
  options.row_count = std::move(*counts);
  return sim::simulate(*plan, topology::Network(experiment::as_imposed(resolved->document)),
                       options)
      .map([&](sim::Outcome outcome) {
        return SimulatedTime{std::move(outcome), plan->schedule};
      });
}

}  // namespace trainyard::ui
