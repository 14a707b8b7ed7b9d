// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/manual/manual_help.h"

#include <gtest/gtest.h>

#include <QDockWidget>
#include <QTemporaryDir>

namespace trainyard::ui {
namespace {

class TopicLocationTest : public testing::Test {
 protected:
  TopicLocationTest()
      : manual_(*manual::Manual::load(TRAINYARD_SOURCE_DIR "/resources/manual")),
        dock_(new QWidget),
        form_(new QWidget),
        part_(new QWidget(form_)),
        editor_(new QWidget(part_)) {
    dock_.setObjectName("inspector");
    dock_.setWidget(form_);
  }
  std::string place() {
    return manual::to_string(place_of(manual_, manual_topic_of(editor_), strategy_));
  }
  manual::Manual manual_;
  experiment::StrategySpec strategy_;
  QDockWidget dock_;
  QWidget *form_, *part_, *editor_;
};

TEST_F(TopicLocationTest, empty_topic_leads_to_the_contents) {
  EXPECT_EQ(manual::to_string(place_of(manual_, manual_topic_of(nullptr), strategy_)), "index.md");
}

TEST_F(TopicLocationTest, panel_leads_to_its_page) {
  EXPECT_EQ(place(), "inspector.md");
  dock_.setObjectName("log");
  EXPECT_EQ(place(), "log_and_problems.md#log");
}

TEST_F(TopicLocationTest, topic_precedes_its_panel) {
  set_manual_topic(part_, "canvas");
  EXPECT_EQ(place(), "canvas.md");
}

TEST_F(TopicLocationTest, field_path_is_joined_from_its_parts) {
  set_manual_field(form_, "training");
  set_manual_field(part_, "optimizer");
  set_manual_field(editor_, "learning_rate");
  EXPECT_EQ(manual_topic_of(editor_).field, "training.optimizer.learning_rate");
  EXPECT_EQ(place(), "training.md#fields");
  EXPECT_EQ(place_of(manual_, manual_topic_of(editor_), strategy_).word,
            "training.optimizer.learning_rate");
}

TEST_F(TopicLocationTest, strategy_and_algorithm_lead_to_their_selected_value) {
  set_manual_field(form_, "strategy");
  set_manual_field(editor_, "kind");
  strategy_.kind = experiment::StrategyKind::gossip;
  EXPECT_EQ(place(), "gossip.md");
  set_manual_field(editor_, "algorithm");
  strategy_.algorithm = collective::Algorithm::halving_doubling;
  EXPECT_EQ(place(), "all_reduce.md#halving-doubling");
}

TEST_F(TopicLocationTest, problem_leads_to_its_row_or_field) {
  set_manual_problem(
      form_, base::Problem{"test_problem", base::ProblemCode::bad_input, "training.clip_norm",
                           "the number -1 is out of range", "", ""});
  EXPECT_EQ(place(), "training.md#fields");
  set_manual_problem(
      form_, base::Problem{"duplicate_name", base::ProblemCode::bad_input, "topology.hosts[0].name",
                           "the name \"h\" is also used by topology.hosts[1]", "", ""});
  EXPECT_EQ(place(), "problems.md#problems-of-the-experiment");
  set_manual_problem(form_, std::nullopt);
  EXPECT_EQ(place(), "inspector.md");
}

TEST(ManualHelp, opens_its_window_on_the_first_request) {
  const QTemporaryDir directory;
  QSettings settings(directory.filePath("settings.ini"), QSettings::IniFormat);
  ManualHelp help(TRAINYARD_SOURCE_DIR "/resources/manual", settings,
                  [] { return experiment::StrategySpec(); });
  EXPECT_EQ(help.window(), nullptr);
  help.show_help_for(nullptr);
  ASSERT_NE(help.window(), nullptr);
  EXPECT_TRUE(help.window()->isVisible());
  EXPECT_EQ(help.window()->browser().place().file, "index.md");
}

}  // namespace
}  // namespace trainyard::ui
