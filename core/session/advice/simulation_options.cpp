// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/advice/simulation_options.h"

#include "core/session/rank/recipe.h"

namespace trainyard::session {

base::Result<sim::Options> simulation_options(const experiment::Resolved& experiment,
                                              const plan::Plan& plan) {
  auto counts = row_counts(experiment, plan);
  if (!counts) return base::fail(counts.error());
  sim::Options options;
  options.seed = experiment.document.training.seed;
  options.row_count = std::move(*counts);
  if (experiment.document.run.devices == experiment::DeviceSpeed::paced)
    options.lanes_per_thread = sim::LanesPerThread::paced;
  return options;
}

}  // namespace trainyard::session
