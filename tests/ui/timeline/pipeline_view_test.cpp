// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/timeline/pipeline_view.h"

#include <gtest/gtest.h>

#include <QMouseEvent>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTest>

#include "tests/ui/has_all.h"
#include "ui/theme/theme.h"
#include "ui/timeline/pipeline_text.h"

namespace trainyard::ui {
namespace {

using experiment::Cell;
using experiment::Pass;

constexpr Nanoseconds kUnit = 1'000'000;

// GPipe with two ranks, one stage each, and three micro-batches. Forward and backward each take
// `unit`.
StepCells gpipe(Nanoseconds unit, Nanoseconds begin = 0) {
  std::vector<std::vector<PassCell>> ranks(2);
  const auto add = [&](int rank, Pass pass, int micro, Nanoseconds at) {
    auto& cells = ranks[static_cast<std::size_t>(rank)];
    cells.push_back({{pass, rank, micro},
                     static_cast<int>(cells.size()),
                     {begin + at * unit, begin + (at + 1) * unit}});
  };
  for (int m = 0; m < 3; ++m) add(0, Pass::forward, m, m), add(1, Pass::forward, m, m + 1);
  for (int m = 0; m < 3; ++m) add(1, Pass::backward, m, m + 4), add(0, Pass::backward, m, m + 5);
  return StepCells::of(std::move(ranks));
}

PipelineShape two_stages() {
  return {experiment::PipelineSchedule::gpipe,
          {1, 2, 1},
          {{0, 1, 0}, {2, 3, 1}},
          {"0\u20131", "2\u20133"}};
}

PipelinePlanPtr plan_of_two() {
  PlannedStep step{"train",
                   gpipe(kUnit),
                   {{"F.s0.m0", "F.s0.m1", "F.s0.m2", "B.s1.m0", "B.s1.m1", "B.s1.m2"}, {}},
                   0.25};
  return std::make_shared<const PipelinePlan>(PipelinePlan{two_stages(), {step}});
}

PipelinePicture both() {
  PipelinePicture picture;
  picture.plan = plan_of_two();
  picture.run = two_stages();
  picture.ran = ExecutedStep{7, "train", gpipe(2 * kUnit, 5 * kUnit), {}, 0};
  return picture;
}

class PipelineViewTest : public testing::Test {
 protected:
  PipelineViewTest() {
    view_.resize(1000, 320);
    view_.show();
    view_.set_picture(both());
  }
  ~PipelineViewTest() override { Theme::instance().apply(Theme::Kind::light); }

  QPoint middle(const CellAddress& place) const { return view_.rect_of(place).center().toPoint(); }
  void press(Qt::Key key, Qt::KeyboardModifiers modifiers = {}) {
    QTest::keyClick(&view_, key, modifiers);
  }
  void highlight_devices(QPoint at) {
    QMouseEvent over(QEvent::MouseMove, at, view_.viewport()->mapToGlobal(at), Qt::NoButton,
                     Qt::NoButton, {});
    QApplication::sendEvent(view_.viewport(), &over);
  }
  QImage picture() { return view_.viewport()->grab().toImage(); }
  // Returns the fraction of pixels of a box that have this color.
  double share(const QImage& seen, const QRectF& box, const QColor& color) {
    int count = 0, all = 0;
    for (int y = qRound(box.top()) + 2; y < qRound(box.bottom()) - 2; ++y)
      for (int x = qRound(box.left()) + 3; x < qRound(box.right()) - 3; ++x)
        ++all, count += seen.pixelColor(x, y).rgb() == color.rgb() ? 1 : 0;
    return all == 0 ? 0 : static_cast<double>(count) / all;
  }

  PipelineView view_;
};

constexpr CellAddress planned_cell(int rank, std::size_t number) {
  return {CellBlock::plan, rank, number};
}
constexpr CellAddress ran_cell(int rank, std::size_t number) {
  return {CellBlock::run, rank, number};
}

TEST_F(PipelineViewTest, plan_is_above_the_run_with_the_same_width) {
  EXPECT_LT(view_.rect_of(planned_cell(1, 0)).bottom(), view_.rect_of(ran_cell(0, 0)).top());
  for (int rank = 0; rank < 2; ++rank)
    for (std::size_t i = 0; i < 6; ++i) {
      EXPECT_NEAR(view_.rect_of(planned_cell(rank, i)).left(),
                  view_.rect_of(ran_cell(rank, i)).left(), 1e-6)
          << "at the same part of its step";
      EXPECT_NEAR(view_.rect_of(planned_cell(rank, i)).width(),
                  view_.rect_of(planned_cell(0, 0)).width(), 1e-6);
    }
  EXPECT_NEAR(view_.rect_of(planned_cell(0, 0)).width() * 8,
              view_.scene().body(CellBlock::plan).width(), 1e-6)
      << "a step has eight cells";
}

TEST_F(PipelineViewTest, cells_have_the_color_of_their_pass_and_idle_time_is_hatched) {
  const QImage seen = picture();
  const TimelineColors colors = timeline_colors();
  for (const auto& place : {planned_cell(0, 0), ran_cell(0, 0)})
    EXPECT_GT(share(seen, view_.rect_of(place), pass_color(colors, Pass::forward, 0, 1)), 0.7);
  EXPECT_GT(share(seen, view_.rect_of(ran_cell(1, 3)), pass_color(colors, Pass::backward, 0, 1)),
            0.7);
  const QRectF before = view_.rect_of(ran_cell(0, 2)), after = view_.rect_of(ran_cell(0, 3));
  const QRectF gap(before.right(), before.top(), after.left() - before.right(), before.height());
  ASSERT_GT(gap.width(), 50);
  const IdleColors idle = idle_colors(colors);
  EXPECT_GT(share(seen, gap, idle.line), 0.05);
  EXPECT_GT(share(seen, gap, idle.ground), 0.5);
  EXPECT_EQ(share(seen, gap, colors.ground), 0) << "the step has no blank area";
}

TEST_F(PipelineViewTest, passes_are_distinct_and_numbers_readable_in_both_themes) {
  for (const Theme::Kind kind : {Theme::Kind::light, Theme::Kind::dark}) {
    Theme::instance().apply(kind);
    const TimelineColors colors = timeline_colors();
    const auto color = [&](Pass pass, int chunk) { return pass_color(colors, pass, chunk, 2); };
    for (const Pass pass : {Pass::forward, Pass::backward, Pass::backward_weight})
      for (const int chunk : {0, 1})
        EXPECT_GT(contrast(text_on(color(pass, chunk)), color(pass, chunk)), 4.5);
    for (const int chunk : {0, 1})
      EXPECT_GT(contrast(color(Pass::forward, chunk), color(Pass::backward, chunk)), 2);
    EXPECT_GT(contrast(color(Pass::backward, 0), color(Pass::backward_weight, 0)), 1.5);
    for (const Pass pass : {Pass::forward, Pass::backward})
      EXPECT_GT(contrast(color(pass, 0), color(pass, 1)), 1.15);
  }
}

TEST_F(PipelineViewTest, labels_name_micro_batch_and_stage_of_ranks_with_several_stages) {
  EXPECT_EQ(cell_label(two_stages(), {Pass::forward, 1, 12}), "12");
  const PipelineShape four{experiment::PipelineSchedule::interleaved_1f1b,
                           {1, 2, 1},
                           {{0, 0, 0}, {1, 1, 1}, {2, 2, 0}, {3, 3, 1}},
                           {"0", "1", "2", "3"}};
  EXPECT_EQ(cell_label(four, {Pass::forward, 1, 3}), "3a");
  EXPECT_EQ(cell_label(four, {Pass::backward, 2, 3}), "3b");
}

TEST_F(PipelineViewTest, tooltip_compares_exact_times_of_a_cell_in_plan_and_run) {
  highlight_devices(middle(ran_cell(1, 4)));
  EXPECT_EQ(view_.reading().title, "Micro-batch 1 backward");
  EXPECT_THAT(view_.reading().lines.join("; "),
              test::HasAll("stage 1 (layers 2\u20133) on rank 1", "step 7",
                           "from 10.000000 ms to 12.000000 ms", "takes 2.000000 ms",
                           "plan: begins at 5.000000 ms, takes 1.000000 ms", "0.50×"));
  highlight_devices(
      QPoint(qRound(view_.rect_of(ran_cell(0, 2)).right()) + 20, middle(ran_cell(0, 2)).y()));
  EXPECT_EQ(view_.reading().title, "") << "there is no tooltip between cells";
}

TEST_F(PipelineViewTest, selected_cell_remains_selected_in_the_next_step) {
  QSignalSpy emissions(&view_, &PipelineView::selection_changed);
  QTest::mouseClick(view_.viewport(), Qt::LeftButton, {}, middle(ran_cell(0, 4)));
  EXPECT_EQ(view_.selected(), ran_cell(0, 4));
  EXPECT_EQ(emissions.size(), 1);
  EXPECT_TRUE(view_.accessibleDescription().startsWith("Micro-batch 1 backward: stage 0"));
  PipelinePicture next = both();
  next.ran->step = 8;
  view_.set_picture(next);
  EXPECT_EQ(view_.selected(), ran_cell(0, 4));
  EXPECT_TRUE(view_.selection_text().sentence().contains("step 8"));
  next.ran.reset();
  view_.set_picture(next);
  EXPECT_EQ(view_.selected(), std::nullopt);
  EXPECT_EQ(emissions.size(), 2);
}

TEST_F(PipelineViewTest, arrow_keys_move_between_cells_and_from_plan_to_run) {
  view_.setFocus();
  press(Qt::Key_Right);
  EXPECT_EQ(view_.selected(), planned_cell(0, 0));
  press(Qt::Key_Right);
  EXPECT_EQ(view_.selected(), planned_cell(0, 1));
  press(Qt::Key_Down);
  EXPECT_EQ(view_.selected(), planned_cell(1, 0)) << "the cell at the same time";
  press(Qt::Key_Down);
  EXPECT_EQ(view_.selected(), ran_cell(0, 1));
  press(Qt::Key_End);
  EXPECT_EQ(view_.selected(), ran_cell(0, 5));
  press(Qt::Key_Right);
  EXPECT_EQ(view_.selected(), ran_cell(0, 5)) << "there is no later cell";
  press(Qt::Key_Escape);
  EXPECT_EQ(view_.selected(), std::nullopt);
}

TEST_F(PipelineViewTest, keys_request_steps_following_and_the_plan) {
  QSignalSpy steps(&view_, &PipelineView::step_requested),
      follow(&view_, &PipelineView::follow_requested), plan(&view_, &PipelineView::plan_requested);
  view_.setFocus();
  press(Qt::Key_PageUp);
  press(Qt::Key_PageDown);
  press(Qt::Key_F);
  press(Qt::Key_Return);
  ASSERT_EQ(steps.size(), 2);
  EXPECT_EQ(steps[0][0], -1);
  EXPECT_EQ(steps[1][0], 1);
  EXPECT_EQ(follow.size(), 1);
  EXPECT_EQ(plan.size(), 0) << "no cell is selected";
  press(Qt::Key_Right);
  press(Qt::Key_Return);
  EXPECT_EQ(plan.size(), 1);
}

TEST_F(PipelineViewTest, zooms_both_blocks_together_within_the_step) {
  view_.setFocus();
  const double width = view_.rect_of(ran_cell(0, 0)).width();
  press(Qt::Key_Plus);
  EXPECT_GT(view_.rect_of(ran_cell(0, 0)).width(), width * 1.2);
  EXPECT_NEAR(view_.rect_of(ran_cell(0, 0)).width(), view_.rect_of(planned_cell(0, 0)).width(),
              1e-6);
  press(Qt::Key_Right, Qt::ShiftModifier);
  for (int i = 0; i < 9; ++i) press(Qt::Key_Minus);
  EXPECT_EQ(view_.view(), (TimeRange{0, kStepNanoseconds}));
  view_.zoom_at(0, 0.25);
  view_.select(ran_cell(1, 5));
  EXPECT_TRUE(QRectF(view_.viewport()->rect()).contains(view_.rect_of(ran_cell(1, 5)).center()))
      << "the selection is visible";
}

TEST_F(PipelineViewTest, rows_scroll_if_they_do_not_fit) {
  view_.resize(1000, 120);
  EXPECT_GT(view_.verticalScrollBar()->maximum(), 0);
  view_.select(ran_cell(1, 0));
  EXPECT_LE(view_.rect_of(ran_cell(1, 0)).bottom(), view_.viewport()->height());
}

TEST_F(PipelineViewTest, shows_a_hint_without_a_run) {
  PipelinePicture drawn;
  drawn.plan = plan_of_two();
  drawn.plan_is_of_drawing = true;
  EXPECT_TRUE(block_title(drawn, CellBlock::plan).startsWith("Plan of the drawing"));
  EXPECT_TRUE(why_block_is_empty(drawn, CellBlock::run).startsWith("Press Run"));
  view_.set_picture(drawn);
  EXPECT_FALSE(view_.rect_of(planned_cell(0, 0)).isEmpty());
  EXPECT_TRUE(view_.rect_of(ran_cell(0, 0)).isEmpty());
  picture();
}

TEST(PipelineText, compares_bubbles_of_formula_simulation_and_run) {
  PipelinePicture picture = both();
  picture.ran->cells.ranks[0]
      .pop_back();  // 11 of 16 cells are busy; the last one of rank 0 ended the step
  picture.ran->cells = StepCells::of(picture.ran->cells.ranks);
  EXPECT_THAT(planned_text(picture), test::HasAll("formula 25.0 % ((p-1)/(m+p-1) = 1/4)",
                                                  "simulated 25.0 % (0.0 points)", "in 8 ms"));
  EXPECT_THAT(measured_text(picture),
              test::HasAll("step 7: 21.4 %", "\u22123.6 points vs. simulated",
                           "\u22123.6 vs. formula", "in 14 ms", "1.75×"));
}

TEST(PipelineText, omits_figures_of_incomplete_steps_and_other_experiments) {
  PipelinePicture picture = both();
  picture.ran->lacking = 3;
  EXPECT_THAT(measured_text(picture), test::HasAll("step 7: idle time unknown", "3 ops"));
  picture.ran->lacking = 0;
  picture.plan_is_of_drawing = true;
  EXPECT_THAT(measured_text(picture), test::HasAll("step 7: 25.0 %", "another experiment"));
}

TEST(PipelineText, states_remote_servers) {
  PipelinePicture picture;
  PipelineShape shape{experiment::PipelineSchedule::naive,
                      {1, 2, 1, true},
                      {{0, -1, 0}, {0, 3, 1}, {4, 3, 0}},
                      {"", "0\u20133", "loss"}};
  StepCells cells =
      StepCells::of({{{{Pass::backward, 2, 0}, 0, {1, 2}}},
                     {{{Pass::forward, 1, 0}, 0, {0, 1}}, {{Pass::backward, 1, 0}, 1, {2, 3}}}});
  picture.plan = std::make_shared<const PipelinePlan>(
      PipelinePlan{shape, {{"train", cells, {{"LOSS.m0"}, {"F.s0.m0", "B.s3.m0"}}, {}}}});
  EXPECT_EQ(span_text(picture, planned_cell(0, 0)).title, "Micro-batch 0 backward");
  EXPECT_EQ(span_text(picture, planned_cell(0, 0)).lines.front(), "stage 2 (the loss) on rank 0");
  EXPECT_EQ(span_text(picture, planned_cell(1, 0)).title, "Micro-batch 0 remote forward");
  EXPECT_EQ(span_text(picture, planned_cell(1, 1)).title, "Micro-batch 0 remote backward");
  EXPECT_EQ(cell_label(shape, {Pass::backward, 2, 0}), "0")
      << "its rank has no other stage with cells";
}

}  // namespace
}  // namespace trainyard::ui
