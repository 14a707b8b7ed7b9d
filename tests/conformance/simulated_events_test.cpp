// SPDX-License-Identifier: GPL-3.0-or-later
// Interpreter and simulator run a plan by one rule and say the same of it: all but the times.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "core/sim/simulator.h"
#include "tests/conformance/trained_in_process.h"
#include "tests/core/collective/one_bucket.h"

namespace trainyard::tests {
namespace {

using collective::Algorithm;
using telemetry::Event;
using telemetry::EventKind;
using telemetry::Metric;
using Events = std::vector<std::vector<Event>>;  // by rank

Events real(const experiment::Resolved& resolved) {
  Events events;
  for (RankOutcome& rank : train(resolved, compute::reference::make, in_process)) {
    EXPECT_EQ(rank.problem, base::Problem{});
    events.push_back(std::move(rank.events));
  }
  return events;
}

Events simulated(const experiment::Resolved& resolved) {
  Events events(static_cast<std::size_t>(resolved.world()));
  sim::Options options;
  options.steps = resolved.steps;
  options.on_event = [&](int rank, const Event& event) {
    events[static_cast<std::size_t>(rank)].push_back(event);
  };
  const auto outcome = sim::simulate(strategy::make_plan(resolved).value(),
                                     topology::Network(resolved.document.topology), options);
  EXPECT_TRUE(outcome) << base::to_string(outcome.error());
  return events;
}

// Step, program, op and payload bytes of each op that a rank ran.
auto ops_of(const std::vector<Event>& events) {
  std::vector<std::tuple<int, int, int, double>> ops;
  for (const Event& event : events)
    if (event.kind == EventKind::op)
      ops.emplace_back(event.step, event.index, event.subject, event.value);
  std::ranges::sort(ops);
  return ops;
}

// Bytes that a rank had sent, by step and peer.
auto sent_by(const std::vector<Event>& events) {
  std::map<std::pair<int, int>, double> sent;
  for (const Event& event : events)
    if (event.kind == EventKind::metric && Metric{event.subject} == Metric::sent_payload_bytes)
      sent[{event.step, event.index}] = event.value;
  return sent;
}

class SimulatedEvents : public testing::TestWithParam<std::tuple<int, Algorithm, std::int64_t>> {};

// An epoch and a little more: full steps, the short one, an evaluation.
TEST_P(SimulatedEvents, equal_those_of_training_ranks) {
  const auto [ranks, algorithm, segment_bytes] = GetParam();
  experiment::Experiment e = small(ranks, 24);
  e.training.steps = 13;
  e.strategy.algorithm = algorithm;
  e.strategy.segment_bytes = segment_bytes;
  if (ranks == 1) e.strategy.kind = experiment::StrategyKind::one_device;
  const auto resolved = experiment::resolve(e, ".").value();
  const Events ran = real(resolved), foreseen = simulated(resolved);
  ASSERT_EQ(ran.size(), foreseen.size());
  for (std::size_t rank = 0; rank < ran.size(); ++rank) {
    EXPECT_GT(ops_of(ran[rank]).size(), 13u * 8);
    EXPECT_EQ(ops_of(ran[rank]), ops_of(foreseen[rank])) << "rank " << rank;
    EXPECT_EQ(sent_by(ran[rank]), sent_by(foreseen[rank])) << "rank " << rank;
  }
}

TEST(SimulatedStart, equals_that_of_training_ranks) {
  experiment::Experiment e = small(3, 24);
  e.training.steps = 3;
  e.strategy.kind = experiment::StrategyKind::ddp;
  const auto resolved = experiment::resolve(e, ".").value();
  const Events ran = real(resolved), foreseen = simulated(resolved);
  for (std::size_t rank = 0; rank < ran.size(); ++rank) {
    EXPECT_EQ(ops_of(ran[rank]), ops_of(foreseen[rank])) << "rank " << rank;
    EXPECT_EQ(sent_by(ran[rank]), sent_by(foreseen[rank])) << "rank " << rank;
  }
}

// Full steps, the short one, an evaluation. What is sent early belongs to no step for sure, but all
// of it was sent in the end.
TEST(SimulatedHeterogeneousRanks, equal_those_of_training_ranks) {
  experiment::Experiment central = small(3, 24), parallel = small(3, 24);
  central.topology = drawn_storage(3, 1);
  central.strategy.kind = experiment::StrategyKind::central_storage;
  parallel.strategy.kind = experiment::StrategyKind::data_parallel;
  for (experiment::Experiment* e : {&central, &parallel}) {
    e->training.steps = 13;
    const auto resolved = experiment::resolve(*e, ".").value();
    const Events ran = real(resolved), foreseen = simulated(resolved);
    ASSERT_EQ(ran.size(), foreseen.size());
    for (std::size_t rank = 0; rank < ran.size(); ++rank) {
      const auto last_of = [&](const Events& events) {
        auto sent = sent_by(events[rank]);
        std::erase_if(sent, [](const auto& entry) { return entry.first.first != 12; });
        return sent;
      };
      EXPECT_EQ(ops_of(ran[rank]), ops_of(foreseen[rank])) << "rank " << rank;
      EXPECT_FALSE(last_of(ran).empty());
      EXPECT_EQ(last_of(ran), last_of(foreseen)) << "rank " << rank;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Plans, SimulatedEvents,
                         testing::Combine(testing::Values(1, 2, 3, 4),
                                          testing::ValuesIn(collective::kAlgorithms),
                                          testing::Values(0, 200)));

}  // namespace
}  // namespace trainyard::tests
