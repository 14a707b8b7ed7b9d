// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/runs/runs_panel.h"

#include <gtest/gtest.h>

#include <QHeaderView>
#include <QLineEdit>
#include <QSignalSpy>
#include <QTableWidget>
#include <QTest>
#include <QTreeWidget>
#include <algorithm>

#include "core/base/json.h"
#include "core/experiment/resolve.h"
#include "tests/drawings.h"
#include "tests/ui/charts/synthetic_run.h"
#include "tests/ui/runs_list.h"
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

TEST_F(RunsPanelTest, lists_runs_newest_first_with_their_outcome) {
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

TEST_F(RunsPanelTest, checked_runs_are_emitted_in_order_and_removed_with_their_run) {
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

TEST_F(RunsPanelTest, current_run_is_checked_and_replaced_by_the_next) {
  const QString a = add("2026-01-01_10-00-00_a", 2, 0.5), b = add("2026-01-02_10-00-00_b", 4, 0.97),
                c = add("2026-01-03_10-00-00_c", 4, 0.97);
  RunsPanel panel(runs_.path());
  panel.set_current(a);
  ASSERT_TRUE(read(panel, 3));
  EXPECT_TRUE(panel.ticked().isEmpty()) << "a single run needs no check box";
  panel.set_ticked(b, true);
  EXPECT_EQ(panel.ticked(), QStringList({a, b}));
  EXPECT_EQ(panel.findChild<QTableWidget*>()->columnCount(), 3) << "differences of both runs";
  panel.set_current(c);
  EXPECT_EQ(panel.ticked(), QStringList({c, b})) << "the other run keeps its color";
  panel.set_ticked(c, false);
  panel.set_current(a);
  EXPECT_EQ(panel.ticked(), QStringList({b, a}));
  panel.set_ticked(b, false);
  panel.set_current(c);
  EXPECT_TRUE(panel.ticked().isEmpty()) << "the remaining run was not ticked";
}

TEST_F(RunsPanelTest, current_run_of_another_directory_is_listed_and_a_new_run_stays_checked) {
  const QString a = add("2026-01-01_10-00-00_a", 2, 0.5);
  const QTemporaryDir elsewhere;
  const QString other = elsewhere.filePath("b"), begun = runs_.filePath("2026-01-02_10-00-00_c");
  test::SyntheticRun{}.record(other.toStdString(), 3);
  RunsPanel panel(runs_.path());
  panel.set_current(other);
  ASSERT_TRUE(read(panel, 2));
  EXPECT_EQ(panel.entries()[1].directory, other);
  panel.set_ticked(a, true);
  panel.set_current(begun);  // its directory does not exist yet
  ASSERT_TRUE(read(panel, 1));
  EXPECT_EQ(panel.ticked(), QStringList({begun, a}));
}

TEST_F(RunsPanelTest, label_replaces_the_name) {
  const QString a = add("2026-01-01_10-00-00_a", 2, 0.5);
  RunsPanel panel(runs_.path());
  ASSERT_TRUE(read(panel, 1));
  panel.rename(a, "warm-up 200");
  ASSERT_TRUE(QTest::qWaitFor([&] { return panel.entries()[0].name == "warm-up 200"; }));
  EXPECT_TRUE(run_name(a).startsWith("warm-up 200"));
}

TEST_F(RunsPanelTest, open_menu_renames_a_run_after_a_refresh_of_the_list) {
  for (const char* name : {"first", "second", "third"}) {
    const base::Json experiment{{"name", name}, {"strategy", {{"kind", "mirrored"}}}};
    test::SyntheticRun{.ranks = 1, .experiment = experiment}.record(
        runs_.filePath(QString("2026-01-01_10-00-00_") + name).toStdString(), 3);
  }
  const QString third = runs_.filePath("2026-01-01_10-00-00_third");
  RunsPanel panel(runs_.path());
  panel.resize(560, 300);
  panel.show();
  QSignalSpy refreshed(&panel, &RunsPanel::refreshed);
  ASSERT_TRUE(QTest::qWaitForWindowExposed(&panel) &&
              QTest::qWaitFor([&] { return !refreshed.isEmpty(); }, 60'000));
  test::with_menu(panel, third, [&](QMenu& menu) {
    refreshed.clear();
    panel.refresh();
    ASSERT_TRUE(QTest::qWaitFor([&] { return !refreshed.isEmpty(); }, 60'000));
    menu.setActiveAction(test::offered(menu, "Rename"));
    QTest::keyClick(&menu, Qt::Key_Return);
  });
  const auto* name = panel.findChild<QTreeWidget*>()->viewport()->findChild<QLineEdit*>();
  ASSERT_TRUE(name) << "the run was renamed, not the row";
  EXPECT_EQ(name->text(), "third");
}

TEST_F(RunsPanelTest, open_menu_does_not_rename_a_removed_run) {
  const QString a = add("2026-01-01_10-00-00_a", 2, 0.5), b = add("2026-01-02_10-00-00_b", 4, 0.97);
  RunsPanel panel(runs_.path());
  panel.resize(560, 300);
  panel.show();
  ASSERT_TRUE(QTest::qWaitForWindowExposed(&panel) && read(panel, 2));
  test::with_menu(panel, b, [&](QMenu& menu) {
    QDir(b).removeRecursively();
    ASSERT_TRUE(read(panel, 1));
    menu.setActiveAction(test::offered(menu, "Rename"));
    QTest::keyClick(&menu, Qt::Key_Return);
  });
  EXPECT_FALSE(panel.findChild<QTreeWidget*>()->viewport()->findChild<QLineEdit*>());
}

TEST_F(RunsPanelTest, unnamed_run_is_untitled_and_has_its_time_once) {
  const test::SyntheticRun unnamed{.ranks = 1, .experiment = base::Json::object()};
  for (const char* name : {"2026-01-01_10-00-00_untitled", "2026-01-02_10-00-00"})
    unnamed.record(runs_.filePath(name).toStdString(), 3);
  RunsPanel panel(runs_.path());
  ASSERT_TRUE(read(panel, 2));
  for (const RunEntry& entry : panel.entries()) {
    EXPECT_EQ(entry.name, "Untitled");
    EXPECT_EQ(run_name(entry.directory), "Untitled 10:00:00");
  }
}

TEST_F(RunsPanelTest, columns_are_not_truncated_beside_a_long_name) {
  const QString a = add("2026-01-01_10-00-00_a", 2, 0.5);
  RunsPanel panel(runs_.path());
  panel.resize(560, 300);
  panel.show();
  ASSERT_TRUE(read(panel, 1));
  panel.rename(a,
               "a name that is far too long for any column, and tells only at its end that this "
               "was the fourth");
  ASSERT_TRUE(QTest::qWaitFor([&] { return panel.entries()[0].name.endsWith("fourth"); }));
  const auto* list = panel.findChild<QTreeWidget*>();
  const QHeaderView& header = *list->header();
  EXPECT_EQ(list->textElideMode(), Qt::ElideMiddle);
  EXPECT_TRUE(list->topLevelItem(0)->toolTip(0).contains("fourth"));
  for (int column = 1; column < header.count(); ++column) {
    EXPECT_GE(header.sectionSize(column),
              list->fontMetrics().horizontalAdvance(list->topLevelItem(0)->text(column)))
        << column;
    EXPECT_LE(header.sectionViewportPosition(column) + header.sectionSize(column),
              list->viewport()->width())
        << column << " is cut";
  }
}

TEST_F(RunsPanelTest, narrow_list_hides_the_least_important_columns) {
  add("2026-01-01_10-00-00_a", 2, 0.5);
  RunsPanel panel(runs_.path());
  panel.resize(800, 300);
  panel.show();
  ASSERT_TRUE(QTest::qWaitForWindowExposed(&panel) && read(panel, 1));
  const auto* list = panel.findChild<QTreeWidget*>();
  const QHeaderView& header = *list->header();
  const int name = 12 * list->fontMetrics().averageCharWidth();
  const auto fits = [&] {
    return header.sectionSize(0) >= name && header.length() <= list->viewport()->width();
  };
  constexpr int kFirstToGo[] = {2, 3, 1, 4,
                                5};  // strategy, ranks, when it started, accuracy, state
  EXPECT_EQ(header.hiddenSectionCount(), 0);
  for (int width = 800; width >= 300; width -= 20) {
    panel.resize(width, 300);
    EXPECT_TRUE(QTest::qWaitFor(fits))
        << width << ": a name of " << header.sectionSize(0) << " of " << header.length();
    for (int i = 0; i < 5; ++i)
      EXPECT_EQ(header.isSectionHidden(kFirstToGo[i]), i < header.hiddenSectionCount())
          << width << " " << i;
  }
  EXPECT_GT(header.hiddenSectionCount(), 0);
  EXPECT_FALSE(header.isSectionHidden(5)) << "the outcome is kept";
  panel.resize(800, 300);
  EXPECT_TRUE(QTest::qWaitFor([&] { return header.hiddenSectionCount() == 0; }));
}

TEST_F(RunsPanelTest, comparison_shows_name_and_time_of_runs_and_explains_figures) {
  const QString a = add("2026-01-01_10-00-00_a", 2, 0.5), b = add("2026-01-02_10-00-00_b", 4, 0.97);
  RunsPanel panel(runs_.path());
  ASSERT_TRUE(read(panel, 2));
  panel.rename(a,
               "a name that is far too long for a heading, and tells only at its end that this was "
               "the fourth");
  ASSERT_TRUE(QTest::qWaitFor([&] { return panel.entries()[1].name.endsWith("fourth"); }));
  panel.set_ticked(a, true);
  panel.set_ticked(b, true);
  const auto* table = panel.findChild<QTableWidget*>();
  ASSERT_FALSE(table->isHidden());
  const QTableWidgetItem& heading = *table->horizontalHeaderItem(1);
  EXPECT_TRUE(heading.text().contains("…") &&
              heading.text().contains("fourth\n2026-01-01 10:00:00"))
      << heading.text().toStdString();
  EXPECT_TRUE(heading.toolTip().startsWith("a name that is far too long for a heading, and"));
  for (int column = 1; column <= 2; ++column)
    for (const QString& line : table->horizontalHeaderItem(column)->text().split('\n'))
      EXPECT_LE(table->horizontalHeader()->fontMetrics().horizontalAdvance(line),
                table->columnWidth(column))
          << line.toStdString();
}

TEST_F(RunsPanelTest, run_without_a_recording_has_the_name_of_its_experiment) {
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

TEST(RunComparison, caveats_of_one_run_have_its_name_and_common_caveats_occur_once) {
  const QString drawn = "speeds: drawn", emulated = "EMULATED",
                slow = "a step: 2 ms simulated, 5 ms measured";
  EXPECT_EQ(merge_caveats({{"left", {emulated, drawn}}}), QStringList({emulated, drawn}));
  EXPECT_EQ(merge_caveats({{"left", {emulated, drawn}}, {"right", {drawn, slow}}}),
            QStringList({"left: " + emulated, drawn, "right: " + slow}));
}

TEST(RunComparison, explains_the_computation_of_each_figure) {
  RunEntry run;
  run.result = base::SharedJson(
      base::Json({{"samples_per_second", 1000.0}, {"step_seconds", {{"median", 0.004}}}}));
  const auto rows = compare_runs({run});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1].what, "samples/s");
  EXPECT_TRUE(rows[1].help.contains("step times"));
  EXPECT_TRUE(rows[2].help.contains("slowest rank"));
}

class ComparedSettings : public testing::Test {
 protected:
  ComparedSettings() {
    given_.topology.hosts.push_back(tests::drawn_host("host0", 2));
    given_.run.transport = experiment::TransportKind::automatic;
  }
  static RunEntry ran(const experiment::Experiment& given) {
    RunEntry run;
    run.given = base::SharedJson(experiment::to_json(given));
    run.experiment =
        base::SharedJson(experiment::to_json(experiment::resolve(given, "/")->document));
    return run;
  }
  // Returns lines of the form "path: value | value".
  static std::string differing(const experiment::Experiment& a, const experiment::Experiment& b) {
    QString text;
    for (const ComparisonRow& row : compare_runs({ran(a), ran(b)}))
      if (!row.result) text += row.what + ": " + row.values.join(" | ") + "\n";
    return text.toStdString();
  }
  experiment::Experiment given_;
};

TEST_F(ComparedSettings, ignore_names_notes_positions_and_unused_values) {
  experiment::Experiment other = given_;
  other.name = "renamed";
  other.notes = "why";
  other.topology.hosts[0].x = 480;
  other.training.optimizer.beta1 = 0.5;  // a field of Adam, which is not used
  other.data.images = "left/from/before.gz";
  EXPECT_EQ(differing(given_, other), "");
}

TEST_F(ComparedSettings, omit_settings_derived_from_a_listed_setting) {
  experiment::Experiment other = given_;
  other.training.batch_per_rank = 64;  // changes steps and evaluations
  EXPECT_EQ(differing(given_, other), "training.batch_per_rank: 32 | 64\n");
  other = given_;
  other.training.epochs = 7;
  EXPECT_EQ(differing(given_, other), "training.epochs: 5 | 7\n");
}

TEST_F(ComparedSettings, list_explicit_steps_instead_of_epochs) {
  experiment::Experiment other = given_;
  other.training.steps = 100;
  other.training.epochs = 7;
  EXPECT_EQ(differing(given_, other), "training.steps: 625 | 100\n");
}

TEST_F(ComparedSettings, additional_device_or_layer_is_one_difference) {
  experiment::Experiment other = given_;
  other.topology.hosts[0] = tests::drawn_host("host0", 3);
  other.model.layers.insert(other.model.layers.begin(),
                            {{model::LayerKind::linear, 64}, {model::LayerKind::relu, 0}});
  other.training.batch_per_rank = 16;
  EXPECT_EQ(differing(given_, other),
            "model.layers[0].units: 128 | 64\n"
            "model.layers[2].units: 10 | 128\n"
            "training.batch_per_rank: 32 | 16\n"
            "topology.hosts[0].devices[2]: – | cpu2\n"
            "model.layers[3]: – | relu\n"
            "model.layers[4]: – | linear 10\n");
}

TEST_F(ComparedSettings, first_link_of_a_drawing_is_one_difference) {
  experiment::Experiment other = given_;
  other.topology.links.push_back({"cpu0", "cpu1"});
  EXPECT_EQ(differing(given_, other), "topology.links[0]: – | cpu0 – cpu1\n");
}

TEST(RunComparison, shows_only_settings_that_differ_and_then_results) {
  RunEntry a, b;
  a.experiment =
      base::SharedJson(base::Json({{"training", {{"seed", 1}, {"batch_per_rank", 32}}}}));
  b.experiment =
      base::SharedJson(base::Json({{"training", {{"seed", 1}, {"batch_per_rank", 64}}}}));
  a.state = b.state = "completed";
  a.result = base::SharedJson(
      base::Json({{"held_out_accuracy", 0.9512}, {"step_seconds", {{"median", 0.004}}}}));
  b.result = base::SharedJson(base::Json({{"held_out_accuracy", 0.9}}));
  const auto rows = compare_runs({a, b});
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].what, "training.batch_per_rank");
  EXPECT_EQ(rows[0].values, QStringList({"32", "64"}));
  EXPECT_EQ(rows[2].values, QStringList({"95.12 %", "90.00 %"}));
  EXPECT_EQ(rows[3].values[1], "–");
}

}  // namespace
}  // namespace trainyard::ui
