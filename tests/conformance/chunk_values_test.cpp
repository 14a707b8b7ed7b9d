// SPDX-License-Identifier: GPL-3.0-or-later
// Recorded chunk values of ranks, against one device that trains alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/collective/chunk_spans.h"
#include "core/compute/numbers.h"
#include "core/run/meters/chunk_sampler.h"
#include "core/strategy/strategy.h"
#include "tests/conformance/session_run.h"
#include "tests/conformance/small_training.h"

namespace trainyard::conformance {
namespace {

using experiment::StrategyKind;
using telemetry::ChunkValues;
using telemetry::ChunkValuesKey;

experiment::Experiment small_run(int ranks, StrategyKind kind = StrategyKind::mirrored,
                                 std::int64_t steps = 6) {
  experiment::Experiment e = session_experiment(ranks, steps);
  e.training.precision = experiment::Precision::fp64;
  e.strategy.kind = kind;
  e.strategy.bucket_bytes = 250;
  return e;
}

telemetry::History history_of(const experiment::Experiment& e) {
  SessionRun run(e);
  const auto outcome = run.result();
  EXPECT_EQ(state_of(outcome), "finished");
  return telemetry::History::load(run.directory()).value();
}

double before_at(const ChunkValues& values, std::size_t i) {
  return compute::number_at(values.dtype, values.before.data() + static_cast<std::int64_t>(i) *
                                                                     base::size_of(values.dtype));
}
double after_at(const ChunkValues& values, std::size_t i) {
  return compute::number_at(values.dtype, values.after.data() + static_cast<std::int64_t>(i) *
                                                                    base::size_of(values.dtype));
}

// Gradients of the first step.
std::vector<double> gradients_of_one_device(const experiment::Experiment& e) {
  experiment::Experiment one = tests::one_step(e);
  one.topology.hosts = {trainyard::tests::drawn_host("alpha", 1)};
  one.strategy.kind = StrategyKind::one_device;
  one.training.batch_per_rank = 24;
  return tests::train(experiment::resolve(one, ".").value(), compute::reference::make, {})
      .front()
      .gradients;
}

// Returns the begin of each bucket in the flat gradient, according to the coarse plan.
std::map<int, std::int64_t> begins_of_buckets(const experiment::Experiment& e) {
  std::map<int, std::int64_t> begins;
  const plan::RankPlan rank =
      strategy::coarse_plan(experiment::resolve(e, ".").value()).value().rank_plan(0);
  for (const plan::Op& op : rank.programs[static_cast<std::size_t>(rank.program("train"))].ops)
    if (plan::coarse(op.kind)) begins[op.bucket] = op.writes.front().first;
  return begins;
}

TEST(RecordedChunkValues, are_of_the_first_steps_of_every_rank_and_bucket) {
  const experiment::Experiment e = small_run(3);
  const telemetry::History history = history_of(e);
  std::set<int> steps;
  std::set<std::pair<int, int>> who;
  for (const auto& [key, values] : history.chunk_values())
    steps.insert(key.step), who.insert({key.rank, key.bucket});
  EXPECT_THAT(steps, testing::ElementsAre(0, 1, 2, 4));
  EXPECT_EQ(who.size(), 3 * begins_of_buckets(e).size());
  EXPECT_GE(begins_of_buckets(e).size(), 2u);
}

TEST(RecordedChunkValues, after_the_first_reduction_equal_the_gradient_of_one_device) {
  const experiment::Experiment e = small_run(3);
  const std::vector<double> gradient = gradients_of_one_device(e);
  const auto begins = begins_of_buckets(e);
  int compared = 0;
  const telemetry::History history = history_of(e);
  for (const auto& [key, values] : history.chunk_values()) {
    if (key.step != 0) continue;
    for (std::size_t i = 0; i < values.places.size(); ++i, ++compared)
      EXPECT_NEAR(after_at(values, i),
                  gradient.at(static_cast<std::size_t>(begins.at(key.bucket) + values.places[i])),
                  1e-12);
  }
  EXPECT_GT(compared, 30);
}

// Every algorithm: played from what was there before, in its order, to the bits that were there
// after it.
class AllReduceSteps : public testing::TestWithParam<collective::Algorithm> {};
INSTANTIATE_TEST_SUITE_P(All, AllReduceSteps,
                         testing::Values(collective::Algorithm::ring, collective::Algorithm::direct,
                                         collective::Algorithm::halving_doubling,
                                         collective::Algorithm::binary_tree,
                                         collective::Algorithm::double_binary_tree,
                                         collective::Algorithm::star,
                                         collective::Algorithm::all_to_all),
                         [](const auto& row) { return std::string(base::name_of(row.param)); });

TEST_P(AllReduceSteps, ends_with_the_values_of_the_run_bit_for_bit) {
  for (const auto precision : {experiment::Precision::fp32, experiment::Precision::fp64}) {
    experiment::Experiment e = small_run(4);
    e.training.precision = precision;
    e.strategy.algorithm = GetParam();
    e.strategy.segment_bytes = 256;
    const telemetry::History history = history_of(e);
    int played = 0;
    for (const auto& [key, of_first] : history.chunk_values()) {
      if (key.rank != 0) continue;
      collective::Exercise exercise{.algorithm = GetParam(),
                                    .hosts = {0, 0, 0, 0},
                                    .elements = of_first.elements,
                                    .dtype = of_first.dtype,
                                    .segment_bytes = 256};
      ASSERT_EQ(of_first.places, run::sampled_places(exercise));
      const collective::Steps steps = collective::steps(exercise).value();
      const auto spans = collective::chunk_spans(exercise);
      collective::Values before(4), after(4);
      for (int rank = 0; rank < 4; ++rank) {
        const ChunkValues& values =
            history.chunk_values().at({key.group, key.bucket, key.step, rank});
        std::size_t at = 0;
        for (const collective::ChunkSpan& span : spans) {
          before[static_cast<std::size_t>(rank)].push_back(before_at(values, at));
          after[static_cast<std::size_t>(rank)].push_back(after_at(values, at));
          at += static_cast<std::size_t>(std::min<std::int64_t>(span.count, run::kSampledOfChunk));
        }
      }
      const collective::State end =
          collective::state_at(steps, before, steps.count(), compute::adding_in(exercise.dtype));
      for (std::size_t rank = 0; rank < 4; ++rank)
        for (std::size_t chunk = 0; chunk < spans.size(); ++chunk, ++played)
          EXPECT_TRUE(compute::same_number(end.held[rank][chunk].value, after[rank][chunk]))
              << "rank " << rank << ", chunk " << chunk;
    }
    EXPECT_GT(played, 30);
  }
}

TEST(RecordedChunkValues, of_compressed_gradients_are_the_sent_values_and_absent_for_codes) {
  using compute::compression::Scheme;
  const auto values_of = [](Scheme scheme) {
    experiment::Experiment e = session_experiment(3, 3);
    e.strategy.compression.kind = scheme;
    return history_of(e).chunk_values();
  };
  const auto halves = values_of(Scheme::bf16);
  ASSERT_FALSE(halves.empty());
  for (const auto& [key, values] : halves) EXPECT_EQ(values.dtype, base::DType::bf16);
  EXPECT_FALSE(values_of(Scheme::random_k).empty());
  EXPECT_TRUE(values_of(Scheme::int8).empty()) << "bytes that stand for numbers";
}

TEST(RecordedChunkValues, through_a_storage_are_its_sums_and_its_replies) {
  experiment::Experiment e = small_run(3, StrategyKind::data_parallel);
  const telemetry::History history = history_of(e);
  const std::vector<double> gradient = gradients_of_one_device(e);
  const plan::Plan plan = strategy::coarse_plan(experiment::resolve(e, ".").value()).value();
  const plan::RankPlan rank = plan.rank_plan(0);
  int sums = 0, copies = 0;
  for (const plan::Op& op : rank.programs[static_cast<std::size_t>(rank.program("train"))].ops) {
    if (!plan::coarse(op.kind)) continue;
    SCOPED_TRACE(op.bucket);
    const auto at = history.chunk_values().find({op.group, op.bucket, 0, 0});
    ASSERT_NE(at, history.chunk_values().end()) << "group " << op.group;
    for (std::size_t i = 0; i < at->second.places.size(); ++i) {
      if (op.kind == plan::OpKind::reduce) {
        EXPECT_NEAR(
            after_at(at->second, i),
            gradient.at(static_cast<std::size_t>(op.writes.front().first + at->second.places[i])),
            1e-12);
        ++sums;
      } else {
        const std::int32_t root = op.peer, other = plan.groups[static_cast<std::size_t>(op.group)]
                                                       .ranks[root == 0 ? 1 : 0];
        const ChunkValues &sent = history.chunk_values().at({op.group, op.bucket, 0, root}),
                          &kept = history.chunk_values().at({op.group, op.bucket, 0, other});
        EXPECT_EQ(after_at(kept, i), before_at(sent, i));
        ++copies;
      }
    }
  }
  EXPECT_GE(sums, 8);
  EXPECT_GT(copies, 10);
}

}  // namespace
}  // namespace trainyard::conformance
