// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/conformance/simulated_steps.h"

#include "core/strategy/strategy.h"

namespace trainyard::tests {

sim::Outcome simulated_steps(const experiment::Experiment& e, std::int64_t steps) {
  const auto resolved = experiment::resolve(e, ".").value();
  sim::Options options;
  options.steps = steps;
  return sim::simulate(strategy::make_plan(resolved).value(),
                       topology::Network(resolved.document.topology), options)
      .value();
}

}  // namespace trainyard::tests
