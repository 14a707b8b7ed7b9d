// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/meters/chunk_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/core/collective/one_bucket.h"

namespace trainyard::run {
namespace {

using collective::Algorithm;
using testing::ElementsAre;
using testing::IsEmpty;

// A rank of a plan of one bucket, whose memory a test changes as transfers would.
class SampledRank {
 public:
  SampledRank(const collective::Method& method, const plan::Plan& coarse, int rank,
              std::int64_t elements)
      : plan_(collective::expand(coarse, method).rank_plan(rank)),
        bucket(static_cast<std::size_t>(elements)),
        other_(bucket) {
    BoundProgram program;
    for (const plan::Op& op : plan_.programs.front().ops) {
      BoundOp one;
      one.kind = op.kind;
      if (plan::communicates(op.kind) && !plan::coarse(op.kind)) {
        one.data = address(op.kind == plan::OpKind::send ? op.reads.front() : op.writes.front());
        one.own = op.reads.empty() ? one.data : address(op.reads.front());
      }
      program.ops.push_back(std::move(one));
    }
    bound_.programs.push_back(std::move(program));
    sampler_.emplace(plan_, coarse.groups, bound_, method, gate, box_);
  }

  // One step; element i of the bucket is 1000 `value` + i before it, and the negative of that after
  // it.
  void run(std::int64_t step, float value) {
    for (std::size_t i = 0; i < bucket.size(); ++i)
      bucket[i] = 1000 * value + static_cast<float>(i);
    std::vector<plan::Frontier::Ready> all;
    for (std::size_t i = 0; i < plan_.programs.front().ops.size(); ++i)
      if (plan::communicates(plan_.programs.front().ops[i].kind))
        all.push_back({0, static_cast<int>(i), step, instance_, 0});
    for (std::size_t i = 0; i < all.size(); ++i) {
      sampler_->begins(all[i]);
      if (i + 1 == all.size())
        for (float& element : bucket) element = -element;
      sampler_->ends(all[i]);
    }
    ++instance_;
  }
  std::vector<telemetry::ChunkValues> taken() { return box_.take(); }
  static std::vector<float> floats(const std::vector<std::byte>& bytes) {
    const auto* first = reinterpret_cast<const float*>(bytes.data());
    return {first, first + bytes.size() / sizeof(float)};
  }

 private:
  std::byte* address(const plan::Access& access) {
    auto& buffer = plan_.buffers[access.buffer.index()].name == "grads" ? bucket : other_;
    return reinterpret_cast<std::byte*>(buffer.data() + access.first);
  }

  plan::RankPlan plan_;
  BoundPlan bound_;
  telemetry::ChunkValueQueue box_;
  std::optional<ChunkSampler> sampler_;
  std::int64_t instance_ = 0;

 public:
  std::vector<float> bucket;
  Gate gate;

 private:
  std::vector<float> other_;
};

std::vector<int> steps_of(const std::vector<telemetry::ChunkValues>& list) {
  std::vector<int> steps;
  for (const telemetry::ChunkValues& values : list) steps.push_back(values.step);
  return steps;
}

TEST(ChunkSampler, samples_elements_spread_over_every_chunk) {
  EXPECT_THAT(sampled_places({.hosts = {0, 0}, .elements = 80}),
              ElementsAre(5, 15, 25, 35, 45, 55, 65, 75));
  EXPECT_THAT(sampled_places({.hosts = {0, 0}, .elements = 5}), ElementsAre(0, 1, 2, 3, 4))
      << "complete chunks of 3 and 2";
  EXPECT_THAT(sampled_places({.hosts = {0, 0}, .elements = 0}), IsEmpty());
}

TEST(ChunkSampler, samples_the_first_steps_and_then_fewer) {
  std::vector<int> steps;
  for (int step = 0; step < 100; ++step)
    if (sampled_step(step)) steps.push_back(step);
  EXPECT_THAT(steps, ElementsAre(0, 1, 2, 4, 8, 16, 32, 64));
}

TEST(ChunkSampler, samples_single_steps) {
  SampledRank sampled(Algorithm::ring, collective::one_bucket(2, 8), 0, 8);
  for (const auto& [horizon, single] :
       {std::pair{6, false}, std::pair{7, true}, std::pair{8, true}, std::pair{11, false}}) {
    sampled.gate.open(horizon, false, single);
    sampled.gate.open(horizon, false, single);  // the coordinator repeats itself
    sampled.run(horizon - 1, 1);
  }
  EXPECT_THAT(steps_of(sampled.taken()), ElementsAre(6, 7));
}

TEST(ChunkSampler, records_values_before_and_after_every_algorithm) {
  for (const Algorithm algorithm : collective::kAlgorithms) {
    SCOPED_TRACE(base::name_of(algorithm));
    const collective::Method method = collective::on_hosts(algorithm, 2, 2);
    for (int rank = 0; rank < 4; ++rank) {
      SampledRank sampled(method, collective::one_bucket(4, 101), rank, 101);
      for (int step = 0; step < 6; ++step) sampled.run(step, static_cast<float>(step + 1));
      const auto taken = sampled.taken();
      ASSERT_THAT(steps_of(taken), ElementsAre(0, 1, 2, 4));
      for (const telemetry::ChunkValues& values : taken) {
        EXPECT_EQ(values.elements, 101);
        EXPECT_EQ(values.places,
                  sampled_places({.algorithm = algorithm, .hosts = method.hosts, .elements = 101}));
        std::vector<float> before, after;
        for (const std::int64_t place : values.places)
          before.push_back(static_cast<float>(1000 * (values.step + 1) + place)),
              after.push_back(-before.back());
        EXPECT_EQ(SampledRank::floats(values.before), before);
        EXPECT_EQ(SampledRank::floats(values.after), after);
      }
    }
  }
}

TEST(ChunkSampler, samples_collectives_before_the_first_step) {
  plan::Plan start = collective::one_bucket(2, 8);
  start.rank_plan = [of = start.rank_plan](std::int32_t rank) {
    plan::RankPlan plan = of(rank);
    plan.programs.front().name = "start";
    return plan;
  };
  SampledRank sampled(Algorithm::ring, start, 1, 8);
  sampled.run(3, 1);
  const auto taken = sampled.taken();
  EXPECT_THAT(steps_of(taken), ElementsAre(telemetry::kBeforeSteps));
}

TEST(ChunkSampler, stops_after_a_rank_has_recorded_enough) {
  const collective::Method method(Algorithm::ring);
  std::vector<std::size_t> bytes;
  SampledRank sampled(method, collective::one_bucket(64, 64 * 100), 3, 64 * 100);
  for (int power = 0; power < 62; ++power) sampled.run(std::int64_t{1} << power, 1);
  std::size_t all = 0;
  for (const telemetry::ChunkValues& values : sampled.taken()) all += telemetry::size_of(values);
  EXPECT_LE(all, kMaxSampledBytes);
  EXPECT_GT(all, kMaxSampledBytes * 9 / 10);
}

// A plan of two collectives of one bucket in a step, as batch normalization has them in
// micro-steps.
TEST(ChunkSampler, samples_the_first_of_several_collectives_of_a_bucket) {
  plan::Plan twice =
      collective::one_bucket(2, 8, "AR.b0",
                             "W.s0 @compute writes grads after comm.g0:1\nAR.b0 @comm.g0 group g0 "
                             "reads grads writes grads after compute:2\n");
  SampledRank sampled(Algorithm::ring, twice, 0, 8);
  sampled.run(0, 3);
  const auto taken = sampled.taken();
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(SampledRank::floats(taken.front().before).front(), 3000);
  EXPECT_EQ(SampledRank::floats(taken.front().after).front(), 3000)
      << "the second had neither ended nor started";
}

}  // namespace
}  // namespace trainyard::run
