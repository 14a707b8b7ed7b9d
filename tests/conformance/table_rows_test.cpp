// SPDX-License-Identifier: GPL-3.0-or-later
// Parameter servers whose workers pull and push but the rows of a table that their samples name:
// they train to the numbers that whole tables would train to, and send the bytes of these rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/experiment/fields.h"
#include "core/experiment/servers.h"
#include "tests/conformance/served_case.h"
#include "tests/conformance/served_training.h"
#include "tests/conformance/trained_in_process.h"

namespace trainyard::tests {
namespace {

using experiment::Experiment;
using experiment::OptimizerKind;
using experiment::ServerMode;
using experiment::VariablePlacement;
using telemetry::Metric;

ServedCase tables(ServerMode mode, int workers, int servers,
                  OptimizerKind optimizer = OptimizerKind::sgd, int micro_steps = 1,
                  VariablePlacement placement = VariablePlacement::balanced) {
  return {mode, workers, servers, placement, optimizer, micro_steps, true};
}

Experiment whole(Experiment e) {
  e.strategy.servers.tables = experiment::TablePull::whole;
  return e;
}

class LockstepRows : public testing::TestWithParam<ServedCase> {};
INSTANTIATE_TEST_SUITE_P(Servers, LockstepRows,
                         testing::Values(tables(kSynchronous, 1, 1), tables(kSynchronous, 2, 1),
                                         tables(kSynchronous, 3, 2),
                                         tables(kSynchronous, 4, 3, kAdam),
                                         tables(kSynchronous, 2, 2, OptimizerKind::sgd, 1,
                                                VariablePlacement::round_robin),
                                         tables(kSynchronous, 3, 1, kAdam, 2),
                                         tables(kSynchronous, 3, 4, OptimizerKind::adamw)));

// Moments and decay change rows that no sample names too, which must be included. 24 samples per
// step leave a tail of 10 in an epoch of 250.
TEST_P(LockstepRows, train_bit_identically_to_full_tables) {
  Experiment e = GetParam().training(24);
  e.training.optimizer.weight_decay = 0.01;
  const auto rows = trained(e), all = trained(whole(e));
  expect_same_end(rows, GetParam().workers);
  expect_same_end(all, GetParam().workers);
  EXPECT_EQ(rows[0].parameters, all[0].parameters);
  EXPECT_GT(norm(rows[0].parameters), 0);
}

TEST_P(LockstepRows, hundred_fp64_steps_equal_one_device) {
  Experiment alone = GetParam().task(24);
  alone.strategy.kind = experiment::StrategyKind::one_device;
  alone.training.optimizer.kind = GetParam().optimizer;
  const auto one = trained(alone), ranks = trained(GetParam().training(24));
  expect_same_end(ranks, GetParam().workers);
  EXPECT_LE(distance(ranks[0].parameters, one[0].parameters), 1e-10);
  for (const Metric metric : {Metric::held_out_loss_sum, Metric::loss_sum})
    EXPECT_NEAR(sum_of(ranks, metric, 99), sum_of(one, metric, 99),
                1e-9 * std::abs(sum_of(one, metric, 99)))
        << "the full table is evaluated";
}

class AsynchronousRows : public testing::TestWithParam<ServedCase> {};
INSTANTIATE_TEST_SUITE_P(
    Servers, AsynchronousRows,
    testing::Values(tables(ServerMode::asynchronous, 1, 1), tables(ServerMode::asynchronous, 4, 1),
                    tables(ServerMode::asynchronous, 3, 2, kAdam),
                    tables(ServerMode::asynchronous, 8, 3),
                    tables(ServerMode::asynchronous, 2, 2, OptimizerKind::sgd, 2),
                    tables(ServerMode::stale_synchronous, 4, 2),
                    tables(ServerMode::softsync, 4, 1)));

// Rows that the samples of a step name, read from the data set directly.
class NamedByStep {
 public:
  explicit NamedByStep(const Experiment& e)
      : resolved_(experiment::resolve(e, ".").value()),
        dataset_(data::open(resolved_.document.data, "").value()),
        sampler_(experiment::sampler(resolved_).value()) {}

  // Counts rows [first, end) of the table.
  std::int64_t count(std::int64_t step, std::int64_t first, std::int64_t end) {
    const auto taken = sampler_.indices(step, 0);
    const std::vector<std::int64_t> indices(taken.begin(), taken.end());
    const auto width = static_cast<std::size_t>(dataset_->summary().features()),
               slots = static_cast<std::size_t>(resolved_.document.data.slot_count);
    std::vector<float> features(indices.size() * width);
    std::vector<std::int32_t> labels(indices.size());
    dataset_->fill(data::Split::train, indices, features, labels);
    std::set<std::int64_t> rows;
    for (std::size_t sample = 0; sample < indices.size(); ++sample)
      for (std::size_t slot = 0; slot < slots; ++slot) {
        const auto row = static_cast<std::int64_t>(features[sample * width + slot]);
        if (row >= first && row < end) rows.insert(row);
      }
    return std::ssize(rows);
  }

  const experiment::Resolved& resolved() const { return resolved_; }

 private:
  experiment::Resolved resolved_;
  std::shared_ptr<const data::Dataset> dataset_;
  data::Sampler sampler_;
};

std::set<std::int32_t> steps_of(const RankOutcome& worker, Metric metric) {
  std::set<std::int32_t> steps;
  for (const telemetry::Event& event : worker.events)
    if (event.kind == telemetry::EventKind::metric &&
        event.subject == static_cast<std::uint16_t>(metric))
      steps.insert(event.step);
  return steps;
}

// A round sends of each part of a table a word and k numbers of 4 bytes, and is given k rows, which
// it sends again as their gradient; of all else it sends and is given all. Who evaluates is given
// all of the table, as are all at the end.
TEST_P(AsynchronousRows, send_the_bytes_of_the_rows_in_the_samples) {
  const ServedCase& c = GetParam();
  Experiment e = c.training();
  e.data.held_out_samples = 0;
  NamedByStep named(e);
  const auto ranks = trained(e);
  expect_same_end(ranks, c.workers);
  const std::int64_t row = 4 * 8;
  std::int64_t dense = 0, dense_of_others = 0, tables_of_others = 0, all_tables = 0, parts = 0,
               parts_of_others = 0;
  const auto shares = experiment::shares_of_servers(named.resolved());
  for (const experiment::Share& share : shares) {
    const std::int64_t bytes = share.count * 8;
    (share.table < 0 ? dense : all_tables) += bytes;
    if (share.server > 0) (share.table < 0 ? dense_of_others : tables_of_others) += bytes;
    if (share.table >= 0) ++parts, parts_of_others += share.server > 0 ? 1 : 0;
  }
  ASSERT_EQ(all_tables, 42 * row);
  for (int worker = 0; worker < c.workers; ++worker) {
    const RankOutcome& rank = ranks[static_cast<std::size_t>(worker)];
    const auto steps = steps_of(rank, Metric::samples);
    std::int64_t rows = 0;
    for (const std::int32_t step : steps)
      for (const experiment::Share& share : shares)
        if (share.table >= 0)
          rows += named.count(step, share.first * 8 / row, (share.first + share.count) * 8 / row);
    std::int64_t sent = 0, received = 0;
    for (const comm::Traffic& peer : rank.traffic)
      sent += static_cast<std::int64_t>(peer.sent_payload_bytes),
          received += static_cast<std::int64_t>(peer.received_payload_bytes);
    const auto rounds = std::ssize(steps);
    const std::int64_t lists = 4 * (parts * (rounds + 1) + rows + parts_of_others),
                       asked = 8 * (2 * c.servers + (c.servers - 1));
    EXPECT_EQ(sent, rounds * dense + rows * row + lists + asked) << worker;
    EXPECT_EQ(received, (rounds + 1) * (dense + 4 * 8) + rows * row + all_tables + dense_of_others +
                            tables_of_others)
        << worker;
  }
}

TEST_P(AsynchronousRows, compute_every_round_once) {
  const auto ranks = trained(GetParam().training());
  expect_same_end(ranks, GetParam().workers);
  std::map<std::int32_t, int> rounds;
  for (const RankOutcome& rank : ranks)
    for (const std::int32_t step : steps_of(rank, Metric::samples)) ++rounds[step];
  ASSERT_EQ(rounds.size(), 100U);
  for (const auto& [step, times] : rounds) EXPECT_EQ(times, 1) << step;
}

// A single worker has no other workers beside it: it computes the same as one device.
TEST(Rows, of_one_worker_equal_one_device_bit_for_bit) {
  Experiment alone = tables(ServerMode::asynchronous, 1, 1).task(8);
  alone.strategy.kind = experiment::StrategyKind::one_device;
  const auto one = trained(alone),
             ranks = trained(tables(ServerMode::asynchronous, 1, 1).training());
  expect_same_end(ranks, 1);
  EXPECT_EQ(ranks[0].parameters, one[0].parameters);
}

TEST(Rows, on_the_virtual_clock_are_reproducible_bit_for_bit) {
  const Experiment e = tables(ServerMode::asynchronous, 3, 2, kAdam).training();
  const ServedOutcome once = train_virtually(e), again = train_virtually(e);
  ASSERT_EQ(once.problem, base::Problem{});
  EXPECT_EQ(once.order, again.order);
  EXPECT_EQ(once.parameters, again.parameters);
  for (int worker = 1; worker < 3; ++worker)
    EXPECT_EQ(once.parameters[static_cast<std::size_t>(worker)], once.parameters[0])
        << "the parameters of the servers";
  EXPECT_GT(norm(once.parameters[0]), 0);
}

// The figure that this is for: of a table of which a round names a hundredth of the rows at most,
// what is asked and given is little more than that of all.
TEST(Rows, of_a_hundredth_of_a_table_take_a_hundredth_of_its_bytes) {
  Experiment e = tables(ServerMode::asynchronous, 2, 1).training();
  e.data.vocabulary = 2'000, e.data.zipf_exponent = 0, e.data.slot_count = 4,
  e.data.held_out_samples = 0;
  e.model.layers[0].slot_count = 4, e.model.layers[0].rows = 2'000, e.model.layers[0].width = 16;
  e.training.batch_per_rank = 5;
  e.training.steps = 50;
  e.training.precision = experiment::Precision::fp32;
  const auto resolved = experiment::resolve(e, ".").value();
  const std::int64_t table = 2'000 * 16 * 4, dense = resolved.model.elements * 4 - table;
  const auto ranks = trained(e);
  for (std::size_t worker = 0; worker < 2; ++worker) {
    const RankOutcome& rank = ranks[worker];
    ASSERT_EQ(rank.problem, base::Problem{});
    const std::int64_t rounds = std::ssize(steps_of(rank, Metric::samples));
    const auto received = static_cast<std::int64_t>(rank.traffic[2].received_payload_bytes) -
                          (rounds + 1) * (dense + 32) - table;
    const auto pushed_rows = received,
               lists = static_cast<std::int64_t>(rank.traffic[2].sent_payload_bytes) -
                       rounds * dense - pushed_rows - 16;
    const std::int64_t asked_and_given = received + lists;
    EXPECT_GT(received, 0);
    EXPECT_LE(static_cast<double>(asked_and_given), 0.011 * static_cast<double>(table * rounds))
        << worker;
  }
}

}  // namespace
}  // namespace trainyard::tests
