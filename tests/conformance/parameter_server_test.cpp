// SPDX-License-Identifier: GPL-3.0-or-later
// Parameter servers with real gradients, ranks as threads: what workers end with, how stale their
// gradients are, and every byte that they send.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "core/experiment/fields.h"
#include "core/experiment/servers.h"
#include "tests/conformance/served_case.h"
#include "tests/conformance/served_training.h"
#include "tests/conformance/trained_in_process.h"

namespace trainyard::tests {
namespace {

using experiment::ServerMode;
using experiment::VariablePlacement;
using telemetry::Metric;

experiment::Experiment without_servers(const ServedCase& c, std::int64_t batch) {
  experiment::Experiment e = small(1, batch);
  e.strategy.kind = experiment::StrategyKind::one_device;
  e.training.optimizer.kind = c.optimizer;
  return e;
}

double sum_of_all_steps(const std::vector<RankOutcome>& ranks, Metric metric) {
  double sum = 0;
  for (const RankOutcome& rank : ranks)
    for (const telemetry::Event& event : rank.events)
      if (event.kind == telemetry::EventKind::metric &&
          event.subject == static_cast<std::uint16_t>(metric))
        sum += event.value;
  return sum;
}

class LockstepServers : public testing::TestWithParam<ServedCase> {};
constexpr auto kInTurn = VariablePlacement::round_robin;
INSTANTIATE_TEST_SUITE_P(
    Servers, LockstepServers,
    testing::Values(ServedCase{kSynchronous, 1, 1}, ServedCase{kSynchronous, 2, 1},
                    ServedCase{kSynchronous, 3, 2}, ServedCase{kSynchronous, 4, 3, kInTurn, kAdam},
                    ServedCase{kSynchronous, 2, 2, kInTurn},
                    ServedCase{kSynchronous, 3, 1, VariablePlacement::balanced, kAdam, 2}));

// 24 samples a step leave a tail of 10 in an epoch of 250.
TEST_P(LockstepServers, hundred_fp64_steps_equal_one_device) {
  const ServedCase& c = GetParam();
  const auto one = trained(without_servers(c, 24)), ranks = trained(c.training(24));
  expect_same_end(ranks, c.workers);
  EXPECT_LE(distance(ranks[0].parameters, one[0].parameters), 1e-10);
}

TEST_P(LockstepServers, has_no_staleness_and_the_loss_of_one_device) {
  const ServedCase& c = GetParam();
  const auto one = trained(without_servers(c, 24)), ranks = trained(c.training(24));
  expect_same_end(ranks, c.workers);
  EXPECT_EQ(sum_of_all_steps(ranks, Metric::staleness), 0);
  for (const auto metric : {Metric::loss_sum, Metric::held_out_loss_sum})
    EXPECT_NEAR(sum_of_all_steps(ranks, metric) / sum_of_all_steps(one, metric), 1, 1e-9);
  for (const auto metric : {Metric::samples, Metric::held_out_samples, Metric::held_out_correct})
    EXPECT_EQ(sum_of_all_steps(ranks, metric), sum_of_all_steps(one, metric));
}

class AsynchronousServers : public testing::TestWithParam<ServedCase> {};
INSTANTIATE_TEST_SUITE_P(Servers, AsynchronousServers,
                         testing::Values(ServedCase{ServerMode::asynchronous, 1, 1},
                                         ServedCase{ServerMode::asynchronous, 2, 1},
                                         ServedCase{ServerMode::asynchronous, 4, 1},
                                         ServedCase{ServerMode::asynchronous, 3, 2, kInTurn, kAdam},
                                         ServedCase{ServerMode::asynchronous, 8, 3},
                                         ServedCase{ServerMode::stale_synchronous, 4, 2},
                                         ServedCase{ServerMode::softsync, 4, 1}));

// An epoch of three batches, of which the last is half as large. The first update takes all three
// gradients, so it equals an update of one device with all samples in one batch.
class WeightedUpdate : public testing::TestWithParam<ServedCase> {};
INSTANTIATE_TEST_SUITE_P(
    Softsync, WeightedUpdate,
    testing::Values(ServedCase{ServerMode::softsync, 3, 1},
                    ServedCase{
                        ServerMode::softsync, 3, 1, {}, experiment::OptimizerKind::sgd, 1, true}));

TEST_P(WeightedUpdate, averages_gradients_by_samples) {
  const ServedCase& c = GetParam();
  experiment::Experiment e = c.training(), one = c.task();
  const std::int64_t samples = experiment::resolve(e, ".").value().shares().epoch_samples();
  e.training.batch_per_rank = samples * 2 / 5;
  one.training.batch_per_rank = samples;
  one.strategy.kind = experiment::StrategyKind::one_device;
  e.training.steps = 3, one.training.steps = 1;
  const auto expected = trained(one), real = trained(e);
  expect_same_end(real, c.workers);
  EXPECT_LE(distance(real[0].parameters, expected[0].parameters), 1e-13);
  const ServedOutcome replayed = train_virtually(e);
  ASSERT_EQ(replayed.problem, base::Problem{});
  EXPECT_LE(distance(replayed.parameters[0], expected[0].parameters), 1e-13);
}

// Every batch of the run is taken once, by any worker, as one device would.
TEST_P(AsynchronousServers, uses_every_sample_once_per_epoch) {
  const ServedCase& c = GetParam();
  const auto one = trained(without_servers(c, 8)), ranks = trained(c.training());
  expect_same_end(ranks, c.workers);
  EXPECT_EQ(sum_of_all_steps(ranks, Metric::samples), sum_of_all_steps(one, Metric::samples));
  std::multiset<std::int32_t> steps;
  for (const RankOutcome& rank : ranks)
    for (const telemetry::Event& event : rank.events)
      if (event.kind == telemetry::EventKind::metric &&
          event.subject == static_cast<std::uint16_t>(Metric::samples))
        steps.insert(event.step);
  std::multiset<std::int32_t> expected;
  for (std::int32_t step = 0; step < 100; ++step) expected.insert(step);
  EXPECT_EQ(steps, expected);
}

TEST_P(AsynchronousServers, reduces_the_loss) {
  const ServedCase& c = GetParam();
  experiment::Experiment e = c.training();
  e.training.optimizer.momentum = 0;
  e.training.steps = 400;
  const auto ranks = trained(e);
  expect_same_end(ranks, c.workers);
  std::map<std::int32_t, double> right;
  for (const RankOutcome& rank : ranks)
    for (const telemetry::Event& event : rank.events)
      if (event.kind == telemetry::EventKind::metric &&
          event.subject == static_cast<std::uint16_t>(Metric::held_out_correct))
        right[event.step] = event.value;
  ASSERT_TRUE(right.contains(399));
  EXPECT_GE(right[399], 0.9 * static_cast<double>(e.data.held_out_samples));
}

// With S bytes of parameters, a round sends S and receives S; a request takes one number, a work
// assignment four.
TEST_P(AsynchronousServers, sends_the_bytes_of_the_rounds) {
  const ServedCase& c = GetParam();
  const experiment::Experiment e = c.training();
  const auto resolved = experiment::resolve(e, ".").value();
  const auto ranks = trained(e);
  expect_same_end(ranks, c.workers);
  const std::int64_t parameters = resolved.model.elements * 8;
  std::int64_t of_first = 0;
  for (const experiment::Share& share : experiment::shares_of_servers(resolved))
    of_first += share.server == 0 ? share.count * 8 : 0;
  for (int worker = 0; worker < c.workers; ++worker) {
    const RankOutcome& rank = ranks[static_cast<std::size_t>(worker)];
    const auto rounds = static_cast<std::int64_t>(values_of_metric(rank, Metric::samples).size());
    std::int64_t sent = 0, received = 0;
    for (const comm::Traffic& peer : rank.traffic)
      sent += static_cast<std::int64_t>(peer.sent_payload_bytes),
          received += static_cast<std::int64_t>(peer.received_payload_bytes);
    EXPECT_EQ(sent, rounds * parameters + 8 * (2 * c.servers + (c.servers - 1)))
        << "it asks each server, asks all but the first once more, and leaves";
    EXPECT_EQ(received, (rounds + 1) * (parameters + 4 * 8) + (parameters - of_first)) << worker;
  }
}

TEST(ParameterServer, asynchronous_with_one_worker_equals_one_device_bit_for_bit) {
  const ServedCase c{ServerMode::asynchronous, 1, 1};
  const auto one = trained(without_servers(c, 8)), ranks = trained(c.training());
  expect_same_end(ranks, 1);
  EXPECT_EQ(ranks[0].parameters, one[0].parameters);
}

// The mean over the updates from when all have pushed once to when one pushes for the last time:
// ranks do not start and end at one moment. A gradient as stale as n lies over the n updates before
// it, and counts with those of them that are in between: not with those before all had begun.
struct WhileAllPush {
  std::int64_t updates = 0;
  double mean = 0;
};
WhileAllPush while_all_push(const RankOutcome& server, int workers) {
  std::vector<std::int64_t> values, by;
  for (const telemetry::Event& event : server.events)
    if (event.kind == telemetry::EventKind::metric &&
        event.subject == static_cast<std::uint16_t>(Metric::staleness))
      values.push_back(std::llround(event.value)), by.push_back(event.index);
  std::int64_t first = 0, end = std::ssize(by), sum = 0;
  for (int worker = 0; worker < workers; ++worker) {
    first = std::max(
        first, static_cast<std::int64_t>(std::find(by.begin(), by.end(), worker) - by.begin()));
    end = std::min(
        end, std::ssize(by) - static_cast<std::int64_t>(std::find(by.rbegin(), by.rend(), worker) -
                                                        by.rbegin()));
  }
  if (first >= end) return {};
  for (std::int64_t at = 0; at < std::ssize(by); ++at)
    sum += std::max<std::int64_t>(
        0, std::min(at, end) - std::max(at - values[static_cast<std::size_t>(at)], first));
  return {end - first, static_cast<double>(sum) / static_cast<double>(end - first)};
}

// An identity, whatever the speeds: every update but a worker's own lies once between a pull and
// the push that follows.
TEST(ParameterServer, mean_staleness_is_the_workers_minus_one) {
  for (const int workers : {2, 4, 8}) {
    experiment::Experiment e = ServedCase{ServerMode::asynchronous, workers, 1}.training();
    e.training.steps = 2000;
    e.training.optimizer.learning_rate = 0.001;
    const auto ranks = trained(e);
    expect_same_end(ranks, workers);
    const WhileAllPush staleness = while_all_push(ranks.back(), workers);
    ASSERT_GT(staleness.updates, 50 * workers) << "the workers did not train at the same time";
    EXPECT_NEAR(staleness.mean, workers - 1, 0.02 * (workers - 1)) << workers;
  }
}

TEST(ParameterServer, late_gradients_are_dropped_and_counted) {
  experiment::Experiment e = ServedCase{ServerMode::backup_workers, 3, 1}.training(24);
  e.strategy.servers.backups = 1;
  const auto ranks = trained(e);
  expect_same_end(ranks, 3);
  EXPECT_EQ(values_of_metric(ranks.back(), Metric::staleness), std::vector<double>(200, 0.0))
      << "of two of three workers in each update, all of its version";
  double pushed = 0;
  for (int worker = 0; worker < 3; ++worker)
    pushed += static_cast<double>(
        values_of_metric(ranks[static_cast<std::size_t>(worker)], Metric::samples).size());
  std::map<int, double> counted;
  for (const telemetry::Event& event : ranks.back().events)
    if (event.kind == telemetry::EventKind::metric &&
        event.subject == static_cast<std::uint16_t>(Metric::dropped_gradients))
      counted[event.index] = event.value;
  double sum = 0;
  for (const auto& [worker, count] : counted) sum += count;
  EXPECT_EQ(sum, pushed - 200);
  EXPECT_EQ(values_of_metric(ranks.back(), Metric::version).size(), 100u);
}

TEST(ParameterServer, learning_rate_is_divided_by_the_staleness) {
  experiment::Experiment e = ServedCase{ServerMode::asynchronous, 4, 1}.training();
  e.strategy.servers.staleness_rate = experiment::StalenessRate::divided;
  const auto ranks = trained(e);
  expect_same_end(ranks, 4);
  const auto staleness = values_of_metric(ranks.back(), Metric::staleness),
             rates = values_of_metric(ranks.back(), Metric::learning_rate);
  ASSERT_EQ(staleness.size(), rates.size());
  for (std::size_t i = 0; i < rates.size(); ++i)
    EXPECT_DOUBLE_EQ(rates[i], e.training.optimizer.learning_rate / std::max(1.0, staleness[i]))
        << i;
}

}  // namespace
}  // namespace trainyard::tests
