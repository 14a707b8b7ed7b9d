// SPDX-License-Identifier: GPL-3.0-or-later
// True values in the recordings of real runs: over every transport, against one device that trained
// alone, and what they cost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/base/json.h"
#include "core/compute/numbers.h"
#include "core/experiment/engine.h"
#include "core/strategy/strategy.h"
#include "core/telemetry/history.h"
#include "examples.h"
#include "run_program.h"
#include "trained_weights.h"

namespace trainyard::process {
namespace {

using base::Json;
using telemetry::ChunkValues;

const std::vector<std::string> kPlain{
    "training.precision=fp64", "training.optimizer.kind=sgd", "training.optimizer.momentum=0",
    "training.optimizer.learning_rate=0.5", "training.schedule.kind=constant"};

telemetry::History recording_of(const Json& result) {
  return telemetry::History::load(result["run_directory"].get<std::string>()).value();
}

experiment::Resolved resolved_of(const Json& result) {
  return experiment::resolved_from_json(
             Json::parse(read(std::filesystem::path(result["run_directory"].get<std::string>()) /
                              "resolved.json")))
      .value();
}

double number(const ChunkValues& values, const std::vector<std::byte>& bytes, std::size_t i) {
  return compute::number_at(
      values.dtype, bytes.data() + static_cast<std::int64_t>(i) * base::size_of(values.dtype));
}

// The gradient of one device, from the change of its weights in a step divided by the learning
// rate.
std::vector<double> gradient_of_one_device() {
  std::vector<std::string> one =
      with(kPlain, {"training.batch_per_rank=128", "strategy.kind=one_device"});
  for (int idle = 1; idle < 4; ++idle)
    one.push_back("topology.hosts[0].devices[" + std::to_string(idle) + "].role=idle");
  const Json result = completed(short_run(kMirrored, 1, one));
  const experiment::Resolved resolved = resolved_of(result);
  std::vector<double> gradient(static_cast<std::size_t>(resolved.model.elements));
  model::initialize(resolved.model, resolved.document.training.seed,
                    compute::Tensor{base::DType::fp64,
                                    {resolved.model.elements},
                                    reinterpret_cast<std::byte*>(gradient.data())},
                    {});
  const std::vector<double> trained = trained_weights(result);
  for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] = (gradient[i] - trained[i]) / 0.5;
  return gradient;
}

TEST(ChunkValuesOfRuns, are_the_same_bits_over_every_transport_and_the_gradient_of_one_device) {
  const Home home;
  const std::vector<double> gradient = gradient_of_one_device();
  std::optional<std::map<telemetry::ChunkValuesKey, ChunkValues>> first;
  for (const char* transport : {"shm", "zmq", "inproc"}) {
    SCOPED_TRACE(transport);
    const Json result = completed(short_run(
        kMirrored, 6,
        with(kPlain, {"training.batch_per_rank=32", std::string("run.transport=") + transport})));
    const auto values = recording_of(result).chunk_values();
    if (!first) first = values;
    EXPECT_EQ(values, *first) << "the path of the bytes must not change them";
    const plan::RankPlan coarse = strategy::coarse_plan(resolved_of(result)).value().rank_plan(0);
    int compared = 0;
    for (const plan::Op& op :
         coarse.programs[static_cast<std::size_t>(coarse.program("train"))].ops) {
      if (!plan::coarse(op.kind)) continue;
      for (int rank = 0; rank < 4; ++rank) {
        const ChunkValues& at = values.at({op.group, op.bucket, 0, rank});
        EXPECT_EQ(at.elements, op.writes.front().count);
        EXPECT_EQ(at.places.size(), 16u) << "four of each of four chunks";
        for (std::size_t i = 0; i < at.places.size(); ++i, ++compared)
          EXPECT_NEAR(number(at, at.after, i),
                      gradient.at(static_cast<std::size_t>(op.writes.front().first + at.places[i])),
                      1e-13);
      }
    }
    EXPECT_GE(compared, 100);
  }
  std::set<int> steps;
  for (const auto& [key, values] : *first) steps.insert(key.step);
  EXPECT_THAT(steps, testing::ElementsAre(0, 1, 2, 4));
}

// Before it each rank has what it contributes.
TEST(ChunkValuesOfRuns, before_a_reduction_add_up_to_those_after_it) {
  const Home home;
  const Json result =
      completed(short_run(kMirrored, 5, with(kPlain, {"strategy.algorithm=direct"})));
  const telemetry::History history = recording_of(result);
  double greatest = 0;
  for (const auto& [key, values] : history.chunk_values())
    for (std::size_t i = 0; i < values.places.size(); ++i) {
      double sum = 0;
      for (int rank = 0; rank < 4; ++rank) {
        const ChunkValues& of_rank =
            history.chunk_values().at({key.group, key.bucket, key.step, rank});
        sum += number(of_rank, of_rank.before, i);
      }
      EXPECT_EQ(number(values, values.after, i), sum) << "direct adds in the order of ranks";
      greatest = std::max(greatest, std::abs(sum));
    }
  EXPECT_GT(greatest, 0) << "gradients that are not all nothing";
}

TEST(ChunkValuesOfRuns, of_compressed_gradients_are_what_travels_and_codes_have_none) {
  const Home home;
  const auto values_of = [](const std::string& kind) {
    return recording_of(completed(short_run(kMirrored, 3, {"strategy.compression.kind=" + kind})))
        .chunk_values();
  };
  const auto halves = values_of("bf16");
  ASSERT_FALSE(halves.empty());
  for (const auto& [key, values] : halves) EXPECT_EQ(values.dtype, base::DType::bf16);
  EXPECT_FALSE(values_of("random_k").empty());
  EXPECT_TRUE(values_of("int8").empty()) << "bytes that stand for numbers, and are none";
}

TEST(ChunkValuesOfRuns, of_what_an_engine_takes_whole_are_none) {
  if (experiment::built_engines().size() < 2) GTEST_SKIP() << "Gloo is not in this build";
  const Home home;
  EXPECT_TRUE(recording_of(completed(short_run(kMirrored, 3, {"strategy.engine=gloo"})))
                  .chunk_values()
                  .empty());
}

}  // namespace
}  // namespace trainyard::process
