// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/stepper/run_collectives.h"

#include <gtest/gtest.h>

#include "core/collective/chunk_spans.h"
#include "core/experiment/resolve.h"
#include "tests/core/strategy/experiments.h"

namespace trainyard::ui {
namespace {

std::vector<std::pair<int, int>> buckets(const experiment::Experiment& e, const std::string& of) {
  const RunCollectives run = run_collectives(experiment::to_json(strategy::resolved(e))).value();
  std::vector<std::pair<int, int>> list;
  for (const RunBucket& bucket : run.buckets)
    if (bucket.buffer.starts_with(of)) list.emplace_back(bucket.group, bucket.number);
  return list;
}

// Sums of batch normalization are not gradients and use another group: they are listed after the
// gradients under their own names.
TEST(RunCollectives, include_buckets_and_separate_sums_of_batch_norm) {
  const auto apart = strategy::small_normalized_images(3), together = strategy::synchronized(apart);
  EXPECT_GE(buckets(apart, "grads").size(), 2u);
  EXPECT_EQ(buckets(together, "grads"), buckets(apart, "grads"));
  EXPECT_TRUE(buckets(apart, "sums").empty());
  EXPECT_FALSE(buckets(together, "sums").empty());
  EXPECT_TRUE(run_collectives(experiment::to_json(strategy::resolved(apart)))->has_single_kind());
  EXPECT_FALSE(
      run_collectives(experiment::to_json(strategy::resolved(together)))->has_single_kind());
}

// An exchange of rows is split between rows. Ops before the first step are derived from the ops of
// every step.
TEST(RunCollectives, include_row_exchanges_and_collectives_before_the_first_step) {
  experiment::Experiment e = strategy::small(3);
  e.strategy.kind = experiment::StrategyKind::ddp;
  e.strategy.algorithm = collective::Algorithm::halving_doubling;
  e.data.sharding.kind = data::ShardingKind::vertical;
  const RunCollectives run = run_collectives(experiment::to_json(strategy::resolved(e))).value();
  const auto find = [&](collective::Collective wanted) {
    return std::ranges::find(run.buckets, wanted, &RunBucket::collective);
  };
  for (const auto wanted :
       {collective::Collective::reduce_scatter, collective::Collective::all_gather}) {
    ASSERT_NE(find(wanted), run.buckets.end());
    EXPECT_GT(find(wanted)->row, 1);
    EXPECT_EQ(run.exercise(*find(wanted)).algorithm, collective::Algorithm::direct)
        << "the executed algorithm";
    for (const auto& chunk : collective::chunk_spans(run.exercise(*find(wanted))))
      EXPECT_EQ(chunk.count % find(wanted)->row, 0);
    EXPECT_FALSE(find(wanted)->before_steps);
  }
  const auto broadcast = find(collective::Collective::broadcast);
  ASSERT_NE(broadcast, run.buckets.end());
  EXPECT_TRUE(broadcast->before_steps);
  EXPECT_EQ(broadcast->buffer, "params");
}

TEST(RunCollectives, are_empty_for_one_device) {
  experiment::Experiment e = strategy::small(1);
  e.strategy.kind = experiment::StrategyKind::one_device;
  EXPECT_TRUE(buckets(e, "").empty());
}

}  // namespace
}  // namespace trainyard::ui
