// SPDX-License-Identifier: GPL-3.0-or-later
// The model panel on a document: its texts, and the effect of its moves.
#include "ui/modelview/model_panel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QSignalSpy>
#include <QTest>

#include "core/experiment/stages.h"
#include "tests/ui/modelview/model_samples.h"

namespace trainyard::ui {
namespace {

using experiment::StagePlace;
using experiment::StrategyKind;
using test::gpt;
using test::ranks_of;
using test::three_layers;
using testing::ElementsAre;
using testing::HasSubstr;

class ModelPanelTest : public testing::Test {
 protected:
  ModelPanelTest() {
    panel_.resize(1300, 400);
    panel_.show();
  }
  void open(const experiment::Experiment& experiment) {
    document_.reset(experiment);
    settle();
  }
  void settle() {
    QSignalSpy settled(&panel_, &ModelPanel::settled);
    ASSERT_TRUE(settled.wait(10'000));
  }
  void key(Qt::Key key, Qt::KeyboardModifiers modifiers = {}) {
    QTest::keyClick(&panel_.view(), key, modifiers);
  }
  const experiment::StageSpec& stages() const { return document_.experiment().strategy.stages; }
  std::vector<int> ranks() const { return ranks_of(panel_.picture()); }
  std::string note() const { return panel_.note_text().toStdString(); }
  std::set<std::string> pointed() const {
    return pointed_.empty() ? std::set<std::string>()
                            : pointed_.last().first().value<std::set<std::string>>();
  }

  Document document_;
  ModelPanel panel_{document_};
  QSignalSpy pointed_{&panel_, &ModelPanel::pointed};
};

TEST_F(ModelPanelTest, follows_the_document) {
  open(three_layers(StrategyKind::mirrored, 2));
  EXPECT_THAT(panel_.totals_text().toStdString(),
              testing::AllOf(HasSubstr("5 layers in 3 segments"), HasSubstr("25,818 parameters"),
                             HasSubstr("103 kB"), HasSubstr("Every device")));
  document_.set_value("strategy.kind", "pipeline");
  settle();
  EXPECT_TRUE(panel_.picture().splits);
  EXPECT_THAT(panel_.totals_text().toStdString(),
              testing::AllOf(HasSubstr("compute cost"), HasSubstr("Drag layers")));
}

TEST_F(ModelPanelTest, moves_layers_immediately_in_one_undo_step_each) {
  open(three_layers(StrategyKind::model_parallel, 3));
  const auto before = ranks();
  ASSERT_EQ(before, (std::vector<int>{0, 1, 2}));
  panel_.view().select({1}, 1);
  key(Qt::Key_Right, Qt::AltModifier);
  EXPECT_EQ(ranks(), (std::vector<int>{0, 2, 2})) << "the picture is updated before validation";
  key(Qt::Key_Left, Qt::AltModifier);
  key(Qt::Key_Left, Qt::AltModifier);
  EXPECT_EQ(ranks(), (std::vector<int>{0, 0, 2})) << "the next key continues from the new picture";
  EXPECT_EQ(document_.undo_stack().count(), 3);
  EXPECT_EQ(document_.undo_stack().undoText(), "Move layer 2 to rank 0");
  EXPECT_EQ(stages().partition, experiment::Partition::by_hand);
  EXPECT_THAT(stages().places, ElementsAre(StagePlace{"0", 0}, StagePlace{"4", 2}));
  settle();
  EXPECT_THAT(note(), HasSubstr("worker 1"));
  EXPECT_THAT(panel_.totals_text().toStdString(), HasSubstr("by hand"));
  for (int step = 0; step < 3; ++step) document_.undo_stack().undo();
  settle();
  EXPECT_EQ(ranks(), before);
  EXPECT_EQ(stages().partition, experiment::Partition::cost);
  EXPECT_EQ(note(), "");
}

TEST_F(ModelPanelTest, matches_the_plan_after_moves) {
  open(gpt(2, 2, false));
  const int count = panel_.picture().count();
  Nodes tail;
  for (int n = 5; n < count; ++n) tail.insert(n);
  Nodes front;
  for (int n = 0; n < 5; ++n) front.insert(n);
  panel_.view().select(front, 0);
  emit panel_.view().move_requested(front, 0);
  emit panel_.view().move_requested(tail, 1);
  settle();
  EXPECT_EQ(note(), "");
  EXPECT_EQ(experiment::owners_of(experiment::resolve(document_.experiment(), "").value()),
            ranks());
}

TEST_F(ModelPanelTest, refuses_invalid_moves_with_advice) {
  open(test::gpt_in_shards());
  const QSignalSpy messages(&panel_, &ModelPanel::message);
  panel_.view().select({0}, 0);
  key(Qt::Key_Right, Qt::AltModifier);
  EXPECT_THAT(note(), testing::AllOf(HasSubstr("Layer 2"), HasSubstr("layer 0")));
  EXPECT_EQ(messages.count(), 1);
  EXPECT_EQ(document_.undo_stack().count(), 0);
  panel_.view().select({0, panel_.picture().count() - 1}, 0);
  key(Qt::Key_Right, Qt::AltModifier);
  EXPECT_EQ(document_.undo_stack().count(), 1);
  EXPECT_EQ(panel_.picture().owners.front(), 1);
  EXPECT_EQ(panel_.picture().owners.back(), 1);
}

TEST_F(ModelPanelTest, accepts_layers_dropped_on_a_device_of_the_drawing) {
  experiment::Experiment e = three_layers(StrategyKind::model_parallel, 3);
  e.topology.hosts[0].devices[2].role = topology::Role::idle;
  open(e);
  panel_.move_to_device({"2"}, "cpu0");
  EXPECT_EQ(ranks(), (std::vector<int>{0, 0, 1}));
  EXPECT_EQ(document_.undo_stack().undoText(), "Move layer 2 to cpu0");
  panel_.move_to_device({"2"}, "cpu2");
  EXPECT_THAT(note(), testing::AllOf(HasSubstr("cpu2"), HasSubstr("worker")));
  EXPECT_EQ(document_.undo_stack().count(), 1);
}

TEST_F(ModelPanelTest, delays_a_move_until_the_picture_is_current) {
  panel_.hide();
  document_.reset(three_layers(StrategyKind::model_parallel, 3));
  panel_.move_to_device({"0", "2"}, "cpu1");
  settle();
  EXPECT_THAT(stages().places, ElementsAre(StagePlace{"0", 1}, StagePlace{"4", 2}));
}

TEST_F(ModelPanelTest, marks_devices_of_the_selected_layers) {
  open(three_layers(StrategyKind::model_parallel, 3));
  panel_.view().select({0, 2}, 0);
  EXPECT_THAT(pointed(), ElementsAre("cpu0", "cpu2"));
  EXPECT_THAT(panel_.details_text().toStdString(), HasSubstr("layers 0 and 4"));
  panel_.hide();
  EXPECT_TRUE(pointed().empty()) << "the panel is hidden";
  panel_.show();
  EXPECT_THAT(pointed(), ElementsAre("cpu0", "cpu2"));
  document_.set_value("strategy.kind", "mirrored");
  settle();
  EXPECT_TRUE(pointed().empty()) << "every device has all layers";
}

TEST_F(ModelPanelTest, shows_problems_of_a_model_until_they_are_fixed) {
  open(three_layers(StrategyKind::mirrored, 2));
  document_.edit("break", [](experiment::Experiment& e) { e.model.layers.back().units = 7; });
  settle();
  EXPECT_THAT(
      panel_.view().empty_text().toStdString(),
      testing::AllOf(HasSubstr("Model: Layer 4: "), HasSubstr("7 units"), HasSubstr("10 classes")));
  EXPECT_EQ(panel_.totals_text(), "");
  panel_.move_to_device({"0"}, "cpu1");
  EXPECT_THAT(note(), HasSubstr("7 units"));
  document_.undo_stack().undo();
  settle();
  EXPECT_EQ(panel_.picture().count(), 3);
  EXPECT_EQ(note(), "");
}

TEST_F(ModelPanelTest, does_not_compute_while_hidden) {
  open(three_layers(StrategyKind::mirrored, 2));
  panel_.hide();
  document_.set_value("strategy.kind", "model_parallel");
  QTest::qWait(400);
  EXPECT_FALSE(panel_.picture().splits);
  panel_.show();
  settle();
  EXPECT_TRUE(panel_.picture().splits);
}

}  // namespace
}  // namespace trainyard::ui
