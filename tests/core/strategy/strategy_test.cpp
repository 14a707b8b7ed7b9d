// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/strategy/strategy.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/json.h"
#include "core/experiment/document.h"
#include "core/plan/frontier.h"
#include "core/plan/text.h"
#include "core/strategy/replica.h"
#include "tests/core/experiment/golden.h"
#include "tests/core/strategy/experiments.h"
#include "tests/core/strategy/tokens.h"

namespace trainyard::strategy {
namespace {

using plan::OpKind;

std::vector<Bucket> buckets_of(double bytes,
                               experiment::Precision precision = experiment::Precision::fp32) {
  experiment::Experiment e = small(2);  // segments of 48, 28 and 25 elements
  e.strategy.bucket_bytes = static_cast<decltype(e.strategy.bucket_bytes)>(bytes);
  e.training.precision = precision;
  return buckets(resolved(e));
}

TEST(Strategy, buckets_go_from_the_last_layer_to_the_first_without_splitting_one) {
  const auto list = buckets_of(150);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(std::tuple(list[0].first_segment, list[0].last_segment, list[0].first, list[0].count),
            std::tuple(1, 2, 48, 53));
  EXPECT_EQ(std::tuple(list[1].first_segment, list[1].last_segment, list[1].first, list[1].count),
            std::tuple(0, 0, 0, 48));
  EXPECT_EQ(buckets_of(1).size(), 3u);
  EXPECT_EQ(buckets_of(1e6).size(), 1u);
  EXPECT_EQ(buckets_of(150, experiment::Precision::fp64).size(),
            3u);  // the same bytes hold half as many
}

TEST(Strategy, one_device_computes_and_sends_nothing) {
  auto e = small(1);
  e.strategy.kind = experiment::StrategyKind::one_device;
  const plan::RankPlan rank = make_plan(resolved(e)).value().rank_plan(0);
  EXPECT_EQ(tokens(rank, "train", plan::LaneKind::compute),
            "RATE F.s0.m0 F.s1.m0 F.s2.m0 LOSS.m0 B.s2.m0 W.s2.m0 B.s1.m0 W.s1.m0 B.s0.m0 W.s0.m0 "
            "UPD.s2 UPD.s1 UPD.s0");
  EXPECT_EQ(rank.lanes.size(), 2u);
  for (const plan::Buffer& buffer : rank.buffers) EXPECT_FALSE(buffer.shared) << buffer.name;
}

std::string trained(const experiment::Experiment& e) {
  auto alone = e;
  alone.strategy.kind = experiment::StrategyKind::one_device;
  return tokens(make_plan(resolved(alone)).value().rank_plan(0), "train", plan::LaneKind::compute);
}

TEST(Strategy, only_segments_with_parameters_are_updated) {
  EXPECT_EQ(trained(small_images(1)),
            "RATE F.s0.m0 F.s1.m0 F.s2.m0 F.s3.m0 F.s4.m0 F.s5.m0 LOSS.m0 B.s5.m0 W.s5.m0 B.s4.m0 "
            "B.s3.m0 B.s2.m0 B.s1.m0 W.s1.m0 B.s0.m0 W.s0.m0 "
            "UPD.s5 UPD.s1 UPD.s0");
}

TEST(Strategy, batch_normalization_reduces_before_it_passes_its_gradient) {
  const std::string ops = trained(small_normalized_images(1));
  EXPECT_NE(ops.find("B.s3.m0 W.s2.m0 B.s2.m0 B.s1.m0 W.s1.m0"), std::string::npos) << ops;
}

TEST(Strategy, computes_no_gradient_before_the_first_parameters) {
  auto e = small_images(1);
  e.model.layers = {{model::LayerKind::dropout, 0},
                    {.kind = model::LayerKind::max_pool, .kernel = 2},
                    {model::LayerKind::linear, 0}};
  EXPECT_EQ(trained(e), "RATE F.s0.m0 F.s1.m0 F.s2.m0 LOSS.m0 W.s2.m0 UPD.s2");
}

TEST(Strategy, has_no_empty_bucket) {
  auto e = small_images(2);
  e.model.layers.insert(e.model.layers.begin(), {model::LayerKind::dropout, 0});
  e.strategy.bucket_bytes = 1;
  const auto list = buckets(resolved(e));
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list.back().first_segment, 0);
  for (const Bucket& bucket : list) EXPECT_GT(bucket.count, 0);
}

TEST(Strategy, evaluation_needs_neither_step_nor_sample_numbers) {
  const plan::RankPlan rank = make_plan(resolved(small_normalized_images(2))).value().rank_plan(0);
  const plan::Program& evaluate = rank.programs[static_cast<std::size_t>(rank.program("evaluate"))];
  for (const plan::Op& op : evaluate.ops)
    for (const auto* accesses : {&op.reads, &op.writes})
      for (const plan::Access& access : *accesses) {
        const std::string& name = rank.buffers[access.buffer.index()].name;
        EXPECT_TRUE(name != "rate" && name != "sample_numbers" && !name.starts_with("sums"))
            << plan::token(op) << " " << name;
        EXPECT_TRUE(name != "running" || accesses == &op.reads)
            << "evaluation changes what training keeps";
      }
}

TEST(Strategy, one_device_refuses_several_ranks) {
  auto e = resolved(small(2));
  e.document.strategy.kind = experiment::StrategyKind::one_device;
  EXPECT_EQ(make_plan(e).error().where, "strategy.kind");
}

TEST(Strategy, mirrored_on_one_rank_equals_one_device) {
  auto e = small(1);
  const auto mirrored_plan = make_plan(resolved(e)).value();
  e.strategy.kind = experiment::StrategyKind::one_device;
  EXPECT_EQ(plan::to_text(mirrored_plan), plan::to_text(make_plan(resolved(e)).value()));
}

TEST(Strategy, mirrored_computes_as_one_device_and_reduces_buckets_when_ready) {
  const plan::RankPlan rank = coarse_plan(resolved(small(3))).value().rank_plan(1);
  EXPECT_EQ(tokens(rank, "train", plan::LaneKind::compute),
            "RATE F.s0.m0 F.s1.m0 F.s2.m0 LOSS.m0 B.s2.m0 W.s2.m0 B.s1.m0 W.s1.m0 B.s0.m0 W.s0.m0 "
            "UPD.s2 UPD.s1 UPD.s0");
  EXPECT_EQ(tokens(rank, "train", plan::LaneKind::comm), "AR.b0 AR.b1");
  EXPECT_EQ(tokens(rank, "evaluate", plan::LaneKind::compute), "F.s0.m0 F.s1.m0 F.s2.m0 LOSS.m0");
  EXPECT_EQ(tokens(rank, "evaluate", plan::LaneKind::comm), "");
}

TEST(Strategy, computes_the_same_ops_on_all_ranks) {
  const plan::Plan plan = coarse_plan(resolved(small(4))).value();
  const int train = plan.rank_plan(0).program("train");
  for (std::int32_t rank = 1; rank < 4; ++rank)
    EXPECT_EQ(plan.rank_plan(rank).programs[static_cast<std::size_t>(train)],
              plan.rank_plan(0).programs[static_cast<std::size_t>(train)]);
}

TEST(Strategy, rank_without_samples_in_the_tail_has_a_zero_gradient) {
  auto e = small(4);
  e.data.train_samples = 4 * 8 * 5 + 2;
  const plan::Plan plan = coarse_plan(resolved(e)).value();
  EXPECT_EQ(tokens(plan.rank_plan(1), "tail", plan::LaneKind::compute),
            "RATE F.s0.m0 F.s1.m0 F.s2.m0 LOSS.m0 B.s2.m0 W.s2.m0 B.s1.m0 W.s1.m0 B.s0.m0 W.s0.m0 "
            "UPD.s2 UPD.s1 UPD.s0");
  EXPECT_EQ(tokens(plan.rank_plan(2), "tail", plan::LaneKind::compute),
            "RATE ZERO.s2 ZERO.s1 ZERO.s0 UPD.s2 UPD.s1 UPD.s0");
  EXPECT_EQ(tokens(plan.rank_plan(2), "tail", plan::LaneKind::comm), "AR.b0 AR.b1");
}

TEST(Strategy, clipping_waits_for_the_norms_of_the_full_gradient) {
  auto e = small(2);
  e.training.clip_norm = 1;
  const plan::RankPlan rank = coarse_plan(resolved(e)).value().rank_plan(0);
  EXPECT_EQ(tokens(rank, "train", plan::LaneKind::compute),
            "RATE F.s0.m0 F.s1.m0 F.s2.m0 LOSS.m0 B.s2.m0 W.s2.m0 B.s1.m0 W.s1.m0 B.s0.m0 W.s0.m0 "
            "NORM.s2 NORM.s1 NORM.s0 CLIP UPD.s2 UPD.s1 UPD.s0");
}

TEST(Strategy, schedule_has_a_tail_at_the_end_of_every_epoch) {
  const plan::Schedule schedule =
      make_plan(resolved(small(3))).value().schedule;  // 250 = 10 x 24 + 10
  EXPECT_EQ(schedule.steps, 22);
  for (std::int64_t step = 0; step < 22; ++step)
    EXPECT_EQ(schedule.program(step), step % 11 == 10 ? "tail" : "train") << step;
  EXPECT_TRUE(schedule.evaluates_after(10) && schedule.evaluates_after(21));
  EXPECT_FALSE(schedule.evaluates_after(9));
}

// Shards of 143, 71 and 36 samples in batches of 8, and the largest sets the steps.
experiment::Experiment skewed() {
  auto e = small(3);
  e.data.sharding.kind = data::ShardingKind::size_skew;
  return e;
}

TEST(Strategy, has_a_program_for_each_segment_of_an_epoch_with_unequal_shards) {
  const auto r = resolved(skewed());
  const plan::Plan plan = make_plan(r).value();
  ASSERT_EQ(data::samples_by_rank(r.shards), (std::vector<std::int64_t>{143, 71, 36}));
  EXPECT_EQ(plan.schedule.full_steps_per_epoch, 4);
  EXPECT_EQ(plan.schedule.tails, (std::vector<std::int64_t>{1, 3, 1, 8, 1}));
  EXPECT_EQ(plan.schedule.steps, 2 * 18);
  const std::pair<const char*, std::vector<std::int64_t>> expected[] = {
      {"train", {8, 8, 8}}, {"tail", {8, 8, 4}},  {"tail2", {8, 8, 0}},
      {"tail3", {8, 7, 0}}, {"tail4", {8, 0, 0}}, {"tail5", {7, 0, 0}}};
  for (const auto& [name, samples] : expected)
    for (std::int32_t rank = 0; rank < 3; ++rank) {
      const plan::RankPlan of_rank = plan.rank_plan(rank);
      const plan::Program& program =
          of_rank.programs.at(static_cast<std::size_t>(of_rank.program(name)));
      EXPECT_EQ(program.samples, samples[static_cast<std::size_t>(rank)])
          << name << " of rank " << rank;
      EXPECT_EQ(program.global_samples, samples[0] + samples[1] + samples[2]) << name;
    }
}

TEST(Strategy, step_runs_the_program_of_its_samples) {
  const auto r = resolved(skewed());
  const plan::Plan plan = make_plan(r).value();
  const data::Shares shares = r.shares();
  for (std::int64_t step = 0; step < r.steps; ++step)
    for (std::int32_t rank = 0; rank < 3; ++rank) {
      const plan::RankPlan of_rank = plan.rank_plan(rank);
      const plan::Program& program = of_rank.programs.at(
          static_cast<std::size_t>(of_rank.program(plan.schedule.program(step))));
      EXPECT_EQ(program.samples, shares.samples(step, rank)) << step;
      EXPECT_EQ(program.global_samples, shares.global_samples(step)) << step;
    }
}

TEST(Strategy, rank_that_has_no_samples_left_sends_zeros) {
  const plan::Plan plan = coarse_plan(resolved(skewed())).value();
  EXPECT_EQ(tokens(plan.rank_plan(2), "tail2", plan::LaneKind::compute),
            "RATE ZERO.s2 ZERO.s1 ZERO.s0 UPD.s2 UPD.s1 UPD.s0");
  EXPECT_EQ(tokens(plan.rank_plan(2), "tail2", plan::LaneKind::comm), "AR.b0 AR.b1");
}

TEST(Strategy, one_rank_with_all_samples_has_the_plan_of_iid) {
  auto e = small(1);
  const std::string iid = plan::to_text(make_plan(resolved(e)).value());
  for (const auto kind : {data::ShardingKind::contiguous, data::ShardingKind::label_skew,
                          data::ShardingKind::size_skew}) {
    e.data.sharding.kind = kind;
    EXPECT_EQ(plan::to_text(make_plan(resolved(e)).value()), iid) << base::name_of(kind);
  }
}

TEST(Strategy, plan_is_the_same_on_every_rank) {
  const auto r = resolved(small(3));
  EXPECT_EQ(plan::hash(make_plan(r).value()), plan::hash(make_plan(resolved(small(3))).value()));
  auto other = small(3);
  other.strategy.algorithm = collective::Algorithm::direct;
  EXPECT_NE(plan::hash(make_plan(r).value()), plan::hash(make_plan(resolved(other)).value()));
}

// Runs a frontier by hand: starts whatever may start, but nothing named in `held`.
struct Driver {
  plan::RankPlan rank;
  plan::Frontier frontier;
  explicit Driver(plan::RankPlan r) : rank(std::move(r)), frontier(rank) {
    frontier.admit(rank.program("train"), 0);
  }

  std::vector<std::string> run_without(const std::vector<std::string>& held) {
    std::vector<std::string> done;
    for (bool any = true; any;) {
      any = false;
      for (std::size_t l = 0; l < rank.lanes.size(); ++l)
        if (const auto ready = frontier.next(plan::LaneId(l))) {
          const std::string token =
              plan::token(rank.programs[static_cast<std::size_t>(ready->program)]
                              .ops[static_cast<std::size_t>(ready->op)]);
          if (std::find(held.begin(), held.end(), token) != held.end()) continue;
          frontier.start(plan::LaneId(l));
          frontier.finish(plan::LaneId(l), *ready);
          done.push_back(token);
          any = true;
        }
    }
    return done;
  }
};
bool holds(const std::vector<std::string>& list, const std::string& token) {
  return std::find(list.begin(), list.end(), token) != list.end();
}

TEST(Strategy, reduction_overlaps_the_backward_pass_of_earlier_layers) {
  Driver driver(coarse_plan(resolved(small(2))).value().rank_plan(0));
  const auto done = driver.run_without({"B.s0.m0"});
  EXPECT_TRUE(holds(done, "AR.b0"));
  EXPECT_FALSE(holds(done, "AR.b1") || holds(done, "UPD.s2"));
}

TEST(Strategy, reduction_overlaps_the_backward_pass_in_the_examples_that_claim_it) {
  for (const char* name : {"four_devices_mirrored_digits", "four_hosts_ring_digits"}) {
    const auto example =
        experiment::load(in_tree(std::string("resources/experiments/") + name + ".json"));
    ASSERT_TRUE(example) << name;
    Driver driver(coarse_plan(resolved(*example)).value().rank_plan(0));
    EXPECT_TRUE(holds(driver.run_without({"B.s0.m0"}), "AR.b0")) << name;
  }
}

TEST(Strategy, updates_start_before_later_buckets_are_reduced) {
  Driver driver(coarse_plan(resolved(small(2))).value().rank_plan(0));
  const auto done = driver.run_without({"AR.b1"});
  EXPECT_TRUE(holds(done, "UPD.s2") && holds(done, "UPD.s1"));
  EXPECT_FALSE(holds(done, "UPD.s0"));
}

}  // namespace
}  // namespace trainyard::strategy
