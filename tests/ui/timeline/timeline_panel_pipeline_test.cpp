// SPDX-License-Identifier: GPL-3.0-or-later
// The timeline panel with pipelines: drawn ones, and recorded ones that are three times slower than
// simulated.
#include <QAction>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>

#include "tests/ui/patience.h"
#include "tests/ui/recorded_ops.h"
#include "tests/ui/timeline/recorded_pipeline.h"
#include "ui/timeline/pipeline_reader.h"
#include "ui/timeline/pipeline_text.h"
#include "ui/timeline/timeline_panel.h"

namespace trainyard::ui {
namespace {

using namespace test;
using experiment::PipelineSchedule;

class PipelinePanel : public testing::Test {
 protected:
  PipelinePanel() : drawn_(drawn_pipeline(PipelineSchedule::gpipe, 2, 3)) {
    panel_.resize(1400, 420);
    panel_.show();
  }
  ~PipelinePanel() override { panel_.set_run(nullptr); }

  PipelinePlanPtr plan(const experiment::Experiment& e) {
    return std::make_shared<const PipelinePlan>(planned(e));
  }
  void open_run(int steps = 6) { open_run(steps, steps - 1); }
  void open_run(int steps, int shown) {
    RecordedPipeline{resolved(drawn_)}.write(directory_.path().toStdString(), steps);
    run_ = ui::Run::open({}, directory_.path());
    panel_.set_run(run_.get());
    ASSERT_TRUE(says("Measured in step " + QString::number(shown)))
        << panel_.figures().toStdString();
  }
  bool says(const QString& text) {
    return QTest::qWaitFor([&] { return panel_.figures().contains(text); }, kPatience);
  }
  QToolButton* button(const QString& text) {
    for (auto* one : panel_.findChildren<QToolButton*>())
      if (one->text() == text) return one;
    return nullptr;
  }

  experiment::Experiment drawn_;
  QTemporaryDir directory_;
  std::unique_ptr<ui::Run> run_;
  TimelinePanel panel_;
};

TEST_F(PipelinePanel, is_hidden_without_a_pipeline) {
  EXPECT_FALSE(panel_.shows_pipeline());
  EXPECT_FALSE(button("Pipeline")->isVisible());
  EXPECT_FALSE(button("Previous step")->isVisible());
  EXPECT_TRUE(button("Thin lanes")->isVisible());
}

TEST_F(PipelinePanel, shows_the_cells_of_the_plan_before_a_run) {
  panel_.set_drawing(plan(drawn_));
  ASSERT_TRUE(panel_.shows_pipeline());
  EXPECT_TRUE(panel_.figures().startsWith(
      "Bubble: by formula 25.0 % ((p-1)/(m+p-1) = 1/4) \u00b7 simulated "))
      << panel_.figures().toStdString();
  EXPECT_TRUE(panel_.pipeline().picture().plan_is_of_drawing);
  EXPECT_FALSE(panel_.step_action(-1).isEnabled());
  panel_.set_run(nullptr);
  EXPECT_TRUE(panel_.figures().contains("simulated")) << "another run is not shown";
  panel_.set_drawing(nullptr);
  EXPECT_FALSE(panel_.shows_pipeline()) << "the strategy changed";
}

TEST_F(PipelinePanel, cell_of_the_drawing_is_found_in_its_plan) {
  panel_.set_drawing(plan(drawn_));
  QSignalSpy drawn(&panel_, &TimelinePanel::drawn_op_selected),
      of_run(&panel_, &TimelinePanel::op_selected);
  panel_.pipeline().select(CellAddress{CellBlock::plan, 1, 1});
  ASSERT_EQ(drawn.size(), 1);
  EXPECT_EQ(drawn[0], (QList<QVariant>{1, "train", "F.s1.m1", false}));
  panel_.plan_action().trigger();
  ASSERT_EQ(drawn.size(), 2);
  EXPECT_EQ(drawn[1][3], true);
  EXPECT_TRUE(panel_.selected_text().startsWith("Micro-batch 1 forward: stage 1"))
      << panel_.selected_text().toStdString();
  EXPECT_EQ(of_run.size(), 0);
}

TEST_F(PipelinePanel, run_shows_its_last_full_step_below_its_plan_with_bubbles) {
  open_run();
  ASSERT_TRUE(panel_.shows_pipeline());
  const PipelinePicture& picture = panel_.pipeline().picture();
  ASSERT_TRUE(picture.ran && picture.planned());
  EXPECT_TRUE(picture.alike());
  EXPECT_NEAR(picture.ran->cells.bubble(), picture.planned()->cells.bubble(), 1e-3);
  EXPECT_TRUE(says("3.00× the planned time")) << panel_.figures().toStdString();
}

TEST_F(PipelinePanel, shorter_last_step_of_an_epoch_does_not_represent_the_run) {
  drawn_.data.train_samples += 2;  // of three micro-batches
  drawn_.training.epochs = 2;
  panel_.set_drawing(plan(drawn_));
  const QString figures = panel_.figures();
  ASSERT_TRUE(figures.contains("= 1/4")) << figures.toStdString();
  open_run(11, 9);
  EXPECT_TRUE(panel_.figures().startsWith(figures)) << panel_.figures().toStdString();
  ASSERT_TRUE(panel_.step_action(1).isEnabled()) << "the last step is shown";
  panel_.step_action(1).trigger();
  EXPECT_TRUE(says("Measured in step 10"));
  EXPECT_TRUE(says("= 1/3"));
}

// The plan is simulated in the background. The run may end before the simulation, which must not be
// waited for.
TEST_F(PipelinePanel, does_not_wait_for_unread_steps) {
  QStringList words;
  RecordedPipeline{resolved(drawn_)}.write(directory_.path().toStdString(), 6);
  run_ = ui::Run::open({}, directory_.path());
  ASSERT_TRUE(QTest::qWaitFor([&] { return run_->complete(); }, kPatience));
  PipelineReader reader(nullptr);
  QObject::connect(&reader, &PipelineReader::changed,
                   [&] { words << why_block_is_empty(reader.picture(), CellBlock::run); });
  StepTimes steps;
  while (steps.read(run_->history())) {
  }
  reader.set_run(run_.get());
  reader.refresh(steps);
  ASSERT_TRUE(QTest::qWaitFor([&] { return reader.picture().run.has_value(); }, kPatience));
  EXPECT_EQ(words.last(), "Reading the recording ...");
  reader.refresh(steps);
  EXPECT_TRUE(reader.picture().ran);
  EXPECT_FALSE(words.join(' ').contains("Waiting")) << words.join(' ').toStdString();
}

TEST_F(PipelinePanel, step_selection_is_shared_with_the_lanes) {
  open_run();
  EXPECT_FALSE(panel_.step_action(1).isEnabled()) << "there is no later step";
  panel_.step_action(-1).trigger();
  EXPECT_TRUE(says("Measured in step 4"));
  QTest::keyClick(&panel_.pipeline(), Qt::Key_PageUp);
  EXPECT_TRUE(says("Measured in step 3"));
  EXPECT_EQ(panel_.view().chosen_step(), 3);
  EXPECT_TRUE(panel_.step_action(1).isEnabled());
  panel_.view().choose_step(0);
  EXPECT_TRUE(says("Measured in step 0"));
  EXPECT_FALSE(panel_.step_action(-1).isEnabled());
  panel_.view().choose_step({});
  EXPECT_TRUE(says("Measured in step 5")) << "without a selection, the last step";
}

TEST_F(PipelinePanel, executed_cell_is_selected_on_the_lanes_and_in_the_plan) {
  open_run();
  QSignalSpy selections(&panel_, &TimelinePanel::op_selected);
  panel_.pipeline().select(CellAddress{CellBlock::run, 1, 2});
  ASSERT_EQ(selections.size(), 1);
  EXPECT_EQ(selections[0], (QList<QVariant>{1, "train", "F.s1.m2", false}));
  EXPECT_EQ(panel_.view().chosen_step(), 5);
  ASSERT_TRUE(panel_.view().selected());
  EXPECT_EQ(panel_.view().selected()->rank, 1);
  panel_.pipeline_action().setChecked(false);
  EXPECT_FALSE(panel_.shows_pipeline());
  EXPECT_TRUE(panel_.selected_text().startsWith("F.s1.m2: forward on rank 1"))
      << panel_.selected_text().toStdString();
  EXPECT_TRUE(says("Step 5: efficiency"));
}

TEST_F(PipelinePanel, plan_of_a_different_drawing_replaces_the_plan_of_the_run) {
  open_run();
  panel_.set_drawing(plan(drawn_));
  EXPECT_FALSE(panel_.pipeline().picture().plan_is_of_drawing) << "the drawing matches the run";
  panel_.set_drawing(plan(drawn_pipeline(PipelineSchedule::gpipe, 2, 6)));
  EXPECT_TRUE(panel_.pipeline().picture().plan_is_of_drawing);
  EXPECT_TRUE(panel_.figures().contains("1/7")) << panel_.figures().toStdString();
  EXPECT_TRUE(panel_.figures().contains("(from another experiment)"));
}

TEST_F(PipelinePanel, buttons_and_keys_apply_to_the_visible_view) {
  open_run();
  EXPECT_TRUE(button("Pipeline")->isVisible() && button("Previous step")->isVisible());
  EXPECT_FALSE(button("Thin lanes")->isVisible());
  EXPECT_EQ(panel_.focusProxy(), &panel_.pipeline());
  EXPECT_NE(button("Pipeline")->focusPolicy() & Qt::TabFocus, 0);
  panel_.pipeline_action().setChecked(false);
  EXPECT_FALSE(button("Previous step")->isVisible());
  EXPECT_TRUE(button("Thin lanes")->isVisible());
  EXPECT_EQ(panel_.focusProxy(), &panel_.view());
}

TEST_F(PipelinePanel, deleted_run_is_removed_with_its_selected_cell) {
  open_run();
  panel_.pipeline().select(CellAddress{CellBlock::run, 1, 2});
  run_.reset();
  EXPECT_TRUE(QTest::qWaitFor([&] { return !panel_.shows_pipeline(); }));
  EXPECT_EQ(panel_.selected_text(), "");
}

}  // namespace
}  // namespace trainyard::ui
