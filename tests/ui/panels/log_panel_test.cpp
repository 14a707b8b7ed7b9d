// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/log_panel.h"

#include <gtest/gtest.h>

#include <QComboBox>
#include <QDir>
#include <QFile>
#include <QLineEdit>
#include <QTableView>
#include <QTest>

#include "tests/ui/charts/synthetic_run.h"

namespace trainyard::ui {
namespace {

class LogPanelTest : public testing::Test {
 protected:
  LogPanelTest() {
    auto writer = synthetic_.create(directory_.path().toStdString());
    const auto say = [&](int rank, const char* level, const char* text) {
      EXPECT_TRUE(writer.append_json(telemetry::FrameType::log, rank, {{"level", level}, {"time_ns", 1'000'000'000}, {"text", text}}));
    };
    say(-1, "info", "two ranks started");
    say(0, "debug", "lanes are bound");
    say(0, "info", "ready");
    say(1, "error", "rank 1 fell over");
    EXPECT_TRUE(writer.append_json(telemetry::FrameType::result, -1, {{"status", "failed"}}));
    EXPECT_TRUE(writer.close());
    run_ = ui::Run::open({}, directory_.path());
    EXPECT_TRUE(QTest::qWaitFor([&] { return run_->complete(); }));
    panel_.set_run(run_.get());
  }
  int rows() { return panel_.table().model()->rowCount(); }
  void print(int rank, const char* text) {
    QDir(directory_.path()).mkpath("logs");
    QFile file(directory_.filePath(QString("logs/rank-%1.log").arg(rank)));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(text);
  }
  QComboBox& combo(int index) { return *panel_.findChildren<QComboBox*>()[index]; }

  QTemporaryDir directory_;
  test::SyntheticRun synthetic_{.ranks = 3};
  std::unique_ptr<ui::Run> run_;
  LogPanel panel_;
};

TEST_F(LogPanelTest, lines_are_filtered_by_level) {
  EXPECT_EQ(rows(), 3) << "debug is hidden at first";
  combo(1).setCurrentIndex(0);
  EXPECT_EQ(rows(), 4);
  combo(1).setCurrentIndex(3);
  EXPECT_EQ(rows(), 1);
}

TEST_F(LogPanelTest, lines_are_filtered_by_who_spoke) {
  combo(0).setCurrentIndex(combo(0).findData(1));
  EXPECT_EQ(rows(), 1);
  combo(0).setCurrentIndex(combo(0).findData(-1));
  EXPECT_EQ(panel_.text(), "0.000\tcoordinator\tinfo\ttwo ranks started");
}

TEST_F(LogPanelTest, lines_are_found_by_text) {
  panel_.findChild<QLineEdit*>()->setText("FELL");
  EXPECT_EQ(rows(), 1);
}

TEST_F(LogPanelTest, the_lines_of_one_rank_are_shown_whole_with_what_its_process_printed) {
  panel_.findChild<QLineEdit*>()->setText("nothing has this");
  print(0, "terminate called\nKilled\n");
  panel_.show_lines_of(0);
  EXPECT_EQ(rows(), 2) << "its debug line too";
  EXPECT_EQ(panel_.note(), "Its process printed:\nterminate called\nKilled");
  panel_.show_lines_of({});
  EXPECT_EQ(rows(), 3);
  EXPECT_EQ(panel_.note(), "");
}

TEST_F(LogPanelTest, a_rank_that_said_nothing_is_told_to_have_said_nothing) {
  print(2, "");
  panel_.show_lines_of(2);
  EXPECT_EQ(rows(), 0);
  EXPECT_EQ(panel_.note(), "Nothing was logged by rank 2.\nIts process printed nothing.");
  panel_.findChild<QLineEdit*>()->setText("x");
  EXPECT_TRUE(panel_.note().startsWith("No line passes the filter."));
}

TEST(RanksIn, are_those_that_the_place_of_a_problem_names) {
  EXPECT_EQ(ranks_in("rank 2 (cpu2 on host0)"), std::set{2});
  EXPECT_EQ(ranks_in("rank 13"), std::set{13});
  EXPECT_EQ(ranks_in("final weights"), std::set<int>{});
  EXPECT_EQ(ranks_in("rank 0 (cpu0 on host0), rank 1 (cpu1 on host0)"), (std::set{0, 1}));
}

TEST_F(LogPanelTest, a_run_that_goes_leaves_nothing_behind) {
  run_.reset();
  EXPECT_EQ(rows(), 0);
}

}  // namespace
}  // namespace trainyard::ui
