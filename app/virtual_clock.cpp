// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/virtual_clock.h"

#include "core/experiment/sync_batch_norm.h"
#include "core/session/rank/recipe.h"
#include "core/sim/served_clock.h"

namespace trainyard::app {

base::Result<std::unique_ptr<plan::ServerEventSource>> make_virtual_clock(
    const experiment::Resolved& experiment, const plan::Plan& plan,
    session::VirtualServices::OnEvent on_event) {
  sim::ServedClockParts parts;
  parts.plan = &plan;
  parts.network = std::make_shared<topology::Network>(experiment.document.topology);
  parts.devices = experiment.ranks;
  parts.seed = experiment.document.training.seed;
  if (experiment::has_local_statistics(experiment.model))
    parts.evaluating_worker = experiment.chief;
  parts.on_event = std::move(on_event);
  auto counts = session::row_counts(experiment, plan);
  if (!counts) return base::fail(counts.error());
  parts.row_count = std::move(*counts);
  return sim::ServerClock::make(std::move(parts))
      .map([](std::unique_ptr<sim::ServerClock> made) -> std::unique_ptr<plan::ServerEventSource> {
        return made;
      });
}

}  // namespace trainyard::app
