// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/log_panel.h"

#include <gtest/gtest.h>

#include <QComboBox>
#include <QDir>
#include <QFile>
#include <QLineEdit>
#include <QTableView>
#include <QTest>

#include "core/base/json.h"
#include "tests/ui/charts/synthetic_run.h"
#include "tests/ui/has_all.h"
#include "ui/model/text/count_text.h"

namespace trainyard::ui {
namespace {

class LogPanelTest : public testing::Test {
 protected:
  LogPanelTest() {
    auto writer = synthetic_.create(directory_.path().toStdString());
    const auto say = [&](int rank, const char* level, const char* text) {
      EXPECT_TRUE(
          writer.append_json(telemetry::FrameType::log, rank,
                             {{"level", level}, {"time_ns", 1'000'000'000}, {"text", text}}));
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

TEST_F(LogPanelTest, lines_are_filtered_by_source) {
  combo(0).setCurrentIndex(combo(0).findData(1));
  EXPECT_EQ(rows(), 1);
  combo(0).setCurrentIndex(combo(0).findData(-1));
  EXPECT_EQ(panel_.text(), "0.000\tcoordinator\tinfo\ttwo ranks started");
}

TEST_F(LogPanelTest, lines_are_found_by_text) {
  panel_.findChild<QLineEdit*>()->setText("FELL");
  EXPECT_EQ(rows(), 1);
}

TEST_F(LogPanelTest, lines_of_one_rank_include_its_process_output) {
  panel_.findChild<QLineEdit*>()->setText("nothing has this");
  print(0, "terminate called\nKilled\n");
  panel_.show_lines_of(0);
  EXPECT_EQ(rows(), 2) << "including its debug line";
  EXPECT_THAT(panel_.note(), test::HasAll("process", "\nterminate called\nKilled"));
  panel_.show_lines_of({});
  EXPECT_EQ(rows(), 3);
  EXPECT_EQ(panel_.note(), "");
}

TEST_F(LogPanelTest, rank_without_output_is_reported) {
  print(2, "");
  panel_.show_lines_of(2);
  EXPECT_EQ(rows(), 0);
  EXPECT_THAT(panel_.note(), test::HasAll("rank 2", "process"));
  panel_.findChild<QLineEdit*>()->setText("x");
  EXPECT_THAT(panel_.note(), test::HasAll("filter"));
}

// 16 MB in 8,000 lines of four ranks in turn, of which one line arrives late, and output of a
// process.
class LongLog : public testing::Test {
 protected:
  static constexpr int kPatience = 240'000, kLines = 8000, kRanks = 4, kLate = 5000;

  LongLog() {
    auto writer = test::SyntheticRun{.ranks = kRanks}.create(directory_.path().toStdString());
    const std::string filler(1950, 'x');
    for (int line = 0; line < kLines; ++line) {
      const base::Json shown_text{{"level", "info"},
                                  {"time_ns", line == kLate ? 10'500 : 1000 * line},
                                  {"text", filler + " line " + std::to_string(line) + "."}};
      EXPECT_TRUE(writer.append_json(telemetry::FrameType::log, line % kRanks, shown_text));
    }
    EXPECT_TRUE(writer.close());
    QDir(directory_.path()).mkpath("logs");
    QFile printed(directory_.filePath("logs/rank-1.log"));
    EXPECT_TRUE(printed.open(QIODevice::WriteOnly) && printed.resize(100'000'000) &&
                printed.seek(100'000'000));
    printed.write("\nlast words\n");
  }
  int rows() { return panel_.table().model()->rowCount(); }
  bool shows(int count) {
    return QTest::qWaitFor([&] { return rows() == count; }, kPatience);
  }

  QTemporaryDir directory_;
  std::unique_ptr<ui::Run> run_;
  LogPanel panel_;
};

TEST_F(LongLog, is_read_incrementally_between_other_events) {
  run_ = ui::Run::open({}, directory_.path());
  panel_.set_run(run_.get());
  ASSERT_TRUE(shows(kLines));
  panel_.show_lines_of(1);
  ASSERT_TRUE(shows(kLines / kRanks)) << "every fourth line";
  EXPECT_TRUE(panel_.note().endsWith("last words"));
  auto* find = panel_.findChild<QLineEdit*>();
  panel_.show_lines_of({});
  find->setText("LINE 7999.");
  EXPECT_TRUE(panel_.note().startsWith("Searching")) << panel_.note().toStdString();
  ASSERT_TRUE(shows(1));
  int portions = 0;
  QObject::connect(panel_.table().model(), &QAbstractItemModel::rowsInserted, &panel_,
                   [&] { ++portions; });
  find->setText("LINE");
  EXPECT_LT(rows(), kLines);
  ASSERT_TRUE(shows(kLines));
  EXPECT_GT(portions, 1);
}

TEST_F(LongLog, late_line_is_sorted_by_its_time) {
  run_ = ui::Run::open({}, directory_.path());
  panel_.set_run(run_.get());
  ASSERT_TRUE(shows(kLines));
  const auto shown_text = [&](int row) {
    return panel_.table()
        .model()
        ->index(row, LogModel::text_column)
        .data(Qt::ToolTipRole)
        .toString();
  };
  for (const auto& [row, line] :
       {std::pair{10, 10}, {11, kLate}, {12, 11}, {kLate, kLate - 1}, {kLate + 1, kLate + 1}})
    EXPECT_TRUE(shown_text(row).endsWith(QString(" line %1.").arg(line)))
        << "row " << row << ": " << shown_text(row).right(12).toStdString();
}

TEST_F(LongLog, is_copied_up_to_the_clipboard_limit) {
  run_ = ui::Run::open({}, directory_.path());
  panel_.set_run(run_.get());
  ASSERT_TRUE(shows(kLines));
  panel_.table().selectAll();
  const QString text = panel_.text();
  const QStringList copied = text.split('\n');
  EXPECT_GE(text.size(), LogPanel::kMaxCopiedCharacters);
  EXPECT_LE(text.size(), LogPanel::kMaxCopiedCharacters + 2 * copied.size() + 2000)
      << "lines are separated and complete";
  EXPECT_EQ(copied.first(), QString("(only the newest %1 lines)").arg(grouped(copied.size() - 1)));
  EXPECT_TRUE(copied.last().contains("line 7999.") && copied.last().size() > 1950)
      << "the whole line";
  panel_.table().selectRow(3);
  EXPECT_TRUE(panel_.text().contains("line 3.")) << "the selection is kept";
}

TEST_F(LogPanelTest, removed_run_leaves_no_lines) {
  run_.reset();
  EXPECT_EQ(rows(), 0);
}

}  // namespace
}  // namespace trainyard::ui
