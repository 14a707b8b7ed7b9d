// SPDX-License-Identifier: GPL-3.0-or-later
// Local SGD on a virtual clock: most steps send nothing, and the cost of a synchronization is
// estimated from a few steps.
#include <gtest/gtest.h>

#include "core/sim/simulator.h"
#include "tests/conformance/simulated_steps.h"
#include "tests/core/strategy/experiments.h"

namespace trainyard::tests {
namespace {

using sim::Outcome;

experiment::Experiment meeting(int ranks, std::int64_t every,
                               experiment::LocalRule rule = experiment::LocalRule::average) {
  experiment::Experiment e = strategy::small(ranks);
  e.strategy.kind = experiment::StrategyKind::local_sgd;
  e.strategy.local_sgd.average_every_steps = every;
  e.strategy.local_sgd.rule = rule;
  e.training.steps = 60;
  return e;
}

// With S bytes of parameters, all ranks together send 2 (n - 1) S at a synchronization.
TEST(LocalSgdSimulated, step_sends_its_share_of_an_all_reduce) {
  for (const std::int64_t every : {1, 2, 4}) {
    const experiment::Experiment e = meeting(4, every);
    const std::int64_t bytes = 2 * 3 * experiment::resolve(e, ".")->model.elements * 4;
    EXPECT_NEAR(static_cast<double>(simulated_steps(e, 3).step_wire_bytes()),
                static_cast<double>(bytes) / static_cast<double>(every), 4)
        << every;
  }
}

TEST(LocalSgdSimulated, predicts_bytes_and_time_of_a_full_run_from_few_steps) {
  for (const experiment::LocalRule rule :
       {experiment::LocalRule::average, experiment::LocalRule::elastic})
    for (const std::int64_t every : {1, 5, 8, 70})
      for (const std::int64_t held_out : {0, 53}) {
        SCOPED_TRACE(every);
        experiment::Experiment e = meeting(5, every, rule);
        e.data.held_out_samples = held_out;
        const Outcome few = simulated_steps(e, 4), all = simulated_steps(e, 60);
        EXPECT_EQ(few.synchronization_seconds > 0, every > 1);
        EXPECT_EQ(few.predicted_wire_bytes, all.predicted_wire_bytes);
        std::int64_t sent = 0;
        for (const sim::WireBytes& pair : all.wire) sent += pair.bytes;
        EXPECT_EQ(all.predicted_wire_bytes, sent);
        EXPECT_EQ(all.predicted_seconds, all.simulated_seconds);
        EXPECT_NEAR(few.predicted_seconds, all.simulated_seconds, 0.05 * all.simulated_seconds);
      }
}

TEST(LocalSgdSimulated, is_faster_with_more_local_steps_on_a_slow_link) {
  experiment::Experiment e = meeting(4, 1);
  e.topology = tests::drawn_hosts(4, 1);
  for (topology::Link& link : e.topology.links) link.bandwidth_bits_per_second = 1e5;
  const double each = simulated_steps(e, 60).simulated_seconds;
  e.strategy.local_sgd.average_every_steps = 10;
  EXPECT_LT(simulated_steps(e, 60).simulated_seconds, 0.3 * each);
}

}  // namespace
}  // namespace trainyard::tests
