// SPDX-License-Identifier: GPL-3.0-or-later
// Cost of plans whose ranks differ.
#include "ui/inspector/cost.h"

#include <gtest/gtest.h>

#include "core/collective/expand.h"
#include "tests/core/strategy/experiments.h"
#include "tests/ui/drawn_pipeline.h"
#include "tests/ui/has_all.h"

namespace trainyard::ui {
namespace {

Cost cost_of(const experiment::Experiment& e) {
  const experiment::Resolved known = test::resolved(e);
  return ui::cost_of(known, strategy::make_plan(known).value());
}

// Stages in the middle send in both directions.
TEST(Cost, is_of_the_rank_that_sends_the_most) {
  const experiment::Resolved known = test::resolved(
      test::drawn_pipeline(experiment::PipelineSchedule::one_forward_one_backward, 4, 4));
  const plan::Plan plan = strategy::make_plan(known).value();
  std::vector<std::int64_t> sent;
  for (int rank = 0; rank < 4; ++rank)
    sent.push_back(collective::step_sent_bytes(plan.rank_plan(rank), plan.schedule));
  ASSERT_EQ(sent[1], 2 * sent[0]);
  ASSERT_EQ(sent[3], sent[0]);
  const Cost cost = ui::cost_of(known, plan);
  EXPECT_EQ(cost.sent_bytes, sent[1]);
  EXPECT_TRUE(cost.sent_at_most);
  EXPECT_THAT(cost_line(cost), test::HasAll("at most "));
}

TEST(Cost, is_stated_per_rank_if_ranks_are_equal) {
  experiment::Experiment e = strategy::small(2);
  e.data.train_samples = 256;
  const Cost cost = cost_of(e);
  EXPECT_GT(cost.sent_bytes, 0);
  EXPECT_FALSE(cost_line(cost).contains("at most")) << cost_line(cost).toStdString();
}

TEST(Cost, computation_can_be_canceled) {
  const experiment::Resolved known = test::resolved(strategy::small(4));
  plan::Plan plan = strategy::make_plan(known).value();
  std::stop_source stop;
  int asked = 0;
  plan.rank_plan = [&, made = plan.rank_plan](std::int32_t rank) {
    if (++asked == 2) stop.request_stop();
    return made(rank);
  };
  ui::cost_of(known, plan, stop.get_token());
  EXPECT_EQ(asked, 2);
}

}  // namespace
}  // namespace trainyard::ui
