// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/runs/runs_panel.h"

#include <gtest/gtest.h>

#include <QSignalSpy>
#include <QTest>
#include <QTreeWidget>
#include <algorithm>

#include "tests/ui/charts/synthetic_run.h"
#include "ui/runs/run_comparison.h"

namespace trainyard::ui {
namespace {

class RunsPanelTest : public testing::Test {
 protected:
  QString add(const QString& name, int ranks, double accuracy) {
    const QString directory = runs_.filePath(name);
    test::SyntheticRun{.ranks = ranks}.record(directory.toStdString(), 20, accuracy);
    return directory;
  }
  static bool read(RunsPanel& panel, std::size_t count) {
    panel.refresh();
    return QTest::qWaitFor([&] { return panel.entries().size() == count; });
  }
  QTemporaryDir runs_;
};

TEST_F(RunsPanelTest, lists_runs_newest_first_with_what_came_of_them) {
  add("2026-01-01_10-00-00_a", 2, 0.5);
  add("2026-01-02_10-00-00_b", 4, 0.97);
  RunsPanel panel(runs_.path());
  ASSERT_TRUE(read(panel, 2));
  const RunEntry& newest = panel.entries()[0];
  EXPECT_EQ(newest.started, "2026-01-02 10:00:00");
  EXPECT_EQ(newest.name, "four devices");
  EXPECT_EQ(newest.strategy, "mirrored");
  EXPECT_EQ(newest.ranks, 4);
  EXPECT_EQ(newest.accuracy, 0.97);
  EXPECT_EQ(newest.state, "completed");
}

TEST_F(RunsPanelTest, ticks_are_told_in_order_and_fall_with_their_run) {
  const QString a = add("2026-01-01_10-00-00_a", 2, 0.5), b = add("2026-01-02_10-00-00_b", 4, 0.97);
  RunsPanel panel(runs_.path());
  ASSERT_TRUE(read(panel, 2));
  QSignalSpy changed(&panel, &RunsPanel::ticked_changed);
  auto* list = panel.findChild<QTreeWidget*>();
  list->topLevelItem(1)->setCheckState(0, Qt::Checked);
  ASSERT_TRUE(QTest::qWaitFor([&] { return changed.size() == 1; }));
  panel.set_ticked(b, true);
  EXPECT_EQ(panel.ticked(), QStringList({a, b}));
  QDir(a).removeRecursively();
  ASSERT_TRUE(read(panel, 1));
  EXPECT_EQ(panel.ticked(), QStringList({b}));
}

TEST_F(RunsPanelTest, a_label_replaces_the_name) {
  const QString a = add("2026-01-01_10-00-00_a", 2, 0.5);
  RunsPanel panel(runs_.path());
  ASSERT_TRUE(read(panel, 1));
  panel.rename(a, "warm-up 200");
  ASSERT_TRUE(QTest::qWaitFor([&] { return panel.entries()[0].name == "warm-up 200"; }));
  EXPECT_TRUE(run_name(a).startsWith("warm-up 200"));
}

TEST_F(RunsPanelTest, a_run_without_a_recording_is_listed_by_its_experiment) {
  const QString directory = runs_.filePath("2026-01-03_10-00-00_c");
  QDir().mkpath(directory);
  QFile file(directory + "/" + kExperimentFile);
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write(R"({"name": "cut short", "strategy": {"kind": "one_device"}})");
  file.close();
  RunsPanel panel(runs_.path());
  ASSERT_TRUE(read(panel, 1));
  EXPECT_EQ(panel.entries()[0].name, "cut short");
  EXPECT_EQ(panel.entries()[0].state, "no result");
}

TEST(RunComparison, shows_only_settings_that_differ_and_then_results) {
  RunEntry a, b;
  a.experiment = {{"training", {{"seed", 1}, {"batch_per_rank", 32}}}};
  b.experiment = {{"training", {{"seed", 1}, {"batch_per_rank", 64}}}};
  a.state = b.state = "completed";
  a.result = {{"held_out_accuracy", 0.9512}, {"step_seconds", {{"median", 0.004}}}};
  b.result = {{"held_out_accuracy", 0.9}};
  const auto rows = compare_runs({a, b});
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].what, "training.batch_per_rank");
  EXPECT_EQ(rows[0].values, QStringList({"32", "64"}));
  EXPECT_EQ(rows[2].values, QStringList({"95.12 %", "90.00 %"}));
  EXPECT_EQ(rows[3].values[1], "–");
}

}  // namespace
}  // namespace trainyard::ui
