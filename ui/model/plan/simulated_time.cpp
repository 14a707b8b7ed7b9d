// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/plan/simulated_time.h"

#include "core/base/json.h"
#include "core/experiment/imposed.h"
#include "core/session/advice/simulation_options.h"
#include "core/strategy/strategy.h"

namespace trainyard::ui {

base::Result<SimulatedTime> simulated_time(const base::Json& recorded_experiment,
                                           std::stop_token stop) {
  const auto resolved = experiment::resolved_from_json(recorded_experiment);
  if (!resolved) return base::fail(resolved.error());
  const auto plan = strategy::make_plan(*resolved);
  if (!plan) return base::fail(plan.error());
  auto options = session::simulation_options(*resolved, *plan);
  if (!options) return base::fail(options.error());
  options->watch.stop = std::move(stop);
  return sim::simulate(*plan, topology::Network(experiment::as_imposed(resolved->document)),
                       *options)
      .map([&](sim::Outcome outcome) {
        return SimulatedTime{std::move(outcome), plan->schedule};
      });
}

}  // namespace trainyard::ui
