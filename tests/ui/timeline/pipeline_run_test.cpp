// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/timeline/pipeline_run.h"

#include <gtest/gtest.h>

#include <QTemporaryDir>

#include "tests/ui/timeline/recorded_pipeline.h"

namespace trainyard::ui {
namespace {

using namespace test;
using experiment::Pass;
using experiment::PipelineSchedule;

// Three ranks, four micro-batches, 1F1B; recorded three times as slow as simulated.
class PipelineRun : public testing::Test {
 protected:
  PipelineRun()
      : resolved_(resolved(drawn_pipeline(PipelineSchedule::one_forward_one_backward, 3, 4))),
        shape_(*pipeline_shape(resolved_)) {}

  void record(RecordedPipeline run, int steps = 5) {
    run.write(directory_.path().toStdString(), steps);
    history_ = telemetry::History::load(directory_.path().toStdString()).value();
    spans_.read(history_);
    while (steps_.read(history_)) continue;
  }
  ExecutedStep step(int number) {
    return ran_step(spans_, recorded_cells(spans_, shape_), *steps_.find(number));
  }

  experiment::Resolved resolved_;
  PipelineShape shape_;
  QTemporaryDir directory_;
  telemetry::History history_;
  SpanStore spans_;
  StepTimes steps_;
};

TEST_F(PipelineRun, recorded_step_has_the_cells_of_the_plan_and_times_of_the_run) {
  record({resolved_});
  const PipelinePlan plan = planned(resolved_, strategy::make_plan(resolved_).value());
  const StepCells& simulated = plan.find("train")->cells;
  const ExecutedStep ran = step(2);
  EXPECT_EQ(ran.step, 2);
  EXPECT_EQ(ran.program, "train");
  EXPECT_EQ(ran.lacking, 0u);
  ASSERT_EQ(ran.cells.ranks.size(), 3u);
  EXPECT_NEAR(static_cast<double>(ran.cells.range.width()),
              3.0 * static_cast<double>(simulated.range.width()), 10);
  EXPECT_NEAR(ran.cells.bubble(), simulated.bubble(), 1e-3);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    ASSERT_EQ(ran.cells.ranks[rank].size(), simulated.ranks[rank].size());
    for (std::size_t i = 0; i < simulated.ranks[rank].size(); ++i)
      EXPECT_EQ(ran.cells.ranks[rank][i].of, simulated.ranks[rank][i].of);
  }
}

TEST_F(PipelineRun, finds_each_cell_on_the_lanes_at_its_first_op) {
  record({resolved_});
  const ExecutedStep ran = step(3);
  ASSERT_EQ(ran.cells.ranks[2][1].of, (experiment::Cell{Pass::backward, 2, 0}));
  const SpanAddress place = ran.places[2][1];
  const OpSpan* span = span_at(spans_, place);
  ASSERT_NE(span, nullptr);
  EXPECT_EQ(span->step, 3);
  EXPECT_EQ(spans_.names(place.rank).token(span->program, span->op), "LOSS.m0");
  EXPECT_EQ(span->begin, ran.cells.ranks[2][1].range.begin);
}

TEST_F(PipelineRun, counts_unrecorded_ops) {
  const plan::RankPlan first = strategy::make_plan(resolved_).value().rank_plan(0);
  const auto& ops = first.programs[static_cast<std::size_t>(first.program("train"))].ops;
  const auto lost =
      std::ranges::find(ops, "B.s0.m1", [](const plan::Op& op) { return plan::token(op); }) -
      ops.begin();
  record({.resolved = resolved_, .lost = static_cast<int>(lost)});
  EXPECT_EQ(step(1).lacking, lost < std::ssize(ops) ? 1u : 0u);
}

TEST_F(PipelineRun, without_recorded_ops_has_no_cells) {
  record({.resolved = resolved_, .ops = false});
  const ExecutedStep ran = step(1);
  EXPECT_EQ(ran.program, "");
  EXPECT_EQ(ran.cells.range.width(), 0);
}

TEST_F(PipelineRun, last_full_step_is_reported_by_all_ranks) {
  EXPECT_EQ(last_complete_step(history_), std::nullopt);
  record({resolved_});
  EXPECT_EQ(last_complete_step(history_), 4);
}

TEST(FullStep, precedes_the_shorter_steps_of_an_epoch) {
  plan::Schedule schedule;
  schedule.steps = 24, schedule.full_steps_per_epoch = 5,
  schedule.tails = {2, 1};  // epochs of eight
  EXPECT_EQ(last_full_step(0, schedule), 0);
  EXPECT_EQ(last_full_step(4, schedule), 4);
  EXPECT_EQ(last_full_step(7, schedule), 4);
  EXPECT_EQ(last_full_step(8, schedule), 8);
  EXPECT_EQ(last_full_step(23, schedule), 20);
  schedule.full_steps_per_epoch = 0;
  EXPECT_EQ(last_full_step(7, schedule), 7) << "the step has no cells";
}

}  // namespace
}  // namespace trainyard::ui
