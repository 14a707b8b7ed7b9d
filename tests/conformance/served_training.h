// SPDX-License-Identifier: GPL-3.0-or-later
// Trains an experiment with parameter servers on the virtual clock, or in a given order, for tests.
#pragma once

#include "core/compute/reference/reference.h"
#include "core/run/replay/server_replay.h"
#include "core/sim/served_clock.h"
#include "tests/conformance/small_training.h"

namespace trainyard::tests {

struct ServedOutcome {
  base::Problem problem;                              // without an id if there is none
  std::vector<std::vector<double>> parameters;        // by rank
  std::vector<std::vector<telemetry::Event>> events;  // by rank
  std::vector<plan::ServerEvent> order;
  double virtual_seconds = 0;
  std::int64_t gradients = 0;
};

inline std::unique_ptr<sim::ServerClock> clock_of(const experiment::Resolved& resolved,
                                                  const plan::Plan& plan) {
  auto clock = sim::ServerClock::make(
                   {&plan, std::make_shared<topology::Network>(resolved.document.topology),
                    resolved.ranks, resolved.document.training.seed})
                   .value();
  clock->allow(resolved.steps, true);
  return clock;
}

// The clock alone: nothing is computed.
inline std::vector<plan::ServerEvent> order_of(plan::ServerEventSource& clock) {
  std::vector<plan::ServerEvent> order;
  for (auto event = clock.next(); event && *event; event = clock.next()) order.push_back(**event);
  return order;
}

inline ServedOutcome follow(const experiment::Resolved& resolved, const plan::Plan& plan,
                            const std::vector<plan::ServerEvent>& order) {
  ServedOutcome outcome;
  const run::Recipe recipe = session::recipe(resolved);
  const auto compute = compute::reference::make();
  std::vector<std::unique_ptr<telemetry::EventRing>> rings;
  for (int rank = 0; rank < plan.ranks; ++rank)
    rings.push_back(std::make_unique<telemetry::EventRing>(1 << 18));
  auto parts = session::served_training_parts(resolved, plan, recipe, *compute).value();
  parts.events = [&](int rank) { return rings[static_cast<std::size_t>(rank)].get(); };
  const auto training = run::ServerReplay::make(parts);
  if (!training) return outcome.problem = training.error(), outcome;
  for (const plan::ServerEvent& event : order)
    if (const auto ok = (*training)->follow(event); !ok)
      return outcome.problem = ok.error(), outcome;
  for (int rank = 0; rank < plan.ranks; ++rank) {
    outcome.parameters.push_back(values_of((*training)->parameters(rank)));
    rings[static_cast<std::size_t>(rank)]->read(outcome.events.emplace_back(), 1 << 18);
  }
  outcome.order = order;
  outcome.gradients = (*training)->gradients();
  outcome.virtual_seconds = order.empty() ? 0 : static_cast<double>(order.back().time_ns) * 1e-9;
  return outcome;
}

inline ServedOutcome train_virtually(const experiment::Experiment& e) {
  const auto resolved = experiment::resolve(e, ".").value();
  const auto plan = strategy::make_plan(resolved).value();
  return follow(resolved, plan, order_of(*clock_of(resolved, plan)));
}

}  // namespace trainyard::tests
