// SPDX-License-Identifier: GPL-3.0-or-later
// The main window with answers instead of dialogs. No run is started here.
#include <QApplication>
#include <QComboBox>
#include <QDir>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QFile>
#include <QLineEdit>
#include <QMimeData>
#include <QPushButton>
#include <QSignalSpy>
#include <QStatusBar>
#include <QTest>

#include "core/base/json.h"
#include "core/experiment/document.h"
#include "tests/problem_matchers.h"
#include "tests/ui/answered_window.h"
#include "tests/ui/charts/synthetic_run.h"
#include "tests/ui/has_all.h"

namespace trainyard::ui {
namespace {

using MainWindowTest = test::AnsweredWindow;

TEST_F(MainWindowTest, starts_with_the_welcome_page_and_no_run) {
  EXPECT_TRUE(window_->center().shows_welcome());
  EXPECT_EQ(window_->runs().current(), nullptr);
  EXPECT_FALSE(window_->controls().pause_action().isEnabled());
}

TEST_F(MainWindowTest, opening_an_example_starts_no_run) {
  ASSERT_TRUE(window_->open(example("four_devices_mirrored_digits.json")));
  EXPECT_FALSE(window_->center().shows_welcome());
  EXPECT_TRUE(window_->windowTitle().startsWith("Four devices, mirrored, digits[*] — Trainyard"))
      << window_->windowTitle().toStdString();
  EXPECT_FALSE(window_->isWindowModified());
  EXPECT_EQ(window_->runs().current(), nullptr);
}

TEST_F(MainWindowTest, change_marks_the_title_and_undo_clears_it) {
  ASSERT_TRUE(window_->open(example("one_device_digits.json")));
  change();
  EXPECT_TRUE(window_->isWindowModified());
  window_->findChild<QAction*>("undo")->trigger();
  EXPECT_FALSE(window_->isWindowModified());
}

TEST_F(MainWindowTest, invalid_file_is_reported_and_changes_nothing) {
  QFile bad(directory_.filePath("bad.json"));
  ASSERT_TRUE(bad.open(QIODevice::WriteOnly));
  bad.write("{ \"version\": 1, \"trainig\": {} }");
  bad.close();
  EXPECT_FALSE(window_->open(bad.fileName()));
  EXPECT_TRUE(window_->center().errors().text().contains("trainig"))
      << window_->center().errors().text().toStdString();
  EXPECT_TRUE(window_->center().shows_welcome());
}

TEST_F(MainWindowTest, file_with_invalid_values_is_not_opened_and_all_problems_are_shown) {
  experiment::Experiment broken =
      *experiment::load(example("four_devices_mirrored_digits.json").toStdString());
  broken.training.batch_per_rank = 0;
  const std::string file = directory_.filePath("broken.json").toStdString();
  ASSERT_TRUE(experiment::save(broken, file));
  EXPECT_FALSE(window_->open(QString::fromStdString(file)));
  EXPECT_THAT(window_->center().errors().text(), test::HasAll("training.batch_per_rank"));
  broken.strategy.kind = experiment::StrategyKind::one_device;
  ASSERT_TRUE(experiment::save(broken, file));
  EXPECT_FALSE(window_->open(QString::fromStdString(file)));
  const QString shown_text = window_->center().errors().text();
  EXPECT_THAT(shown_text, test::HasAll("training.batch_per_rank", "strategy.kind", "mirrored"));
  EXPECT_TRUE(window_->center().shows_welcome());
}

TEST_F(MainWindowTest, dropped_experiment_opens) {
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile(example("four_hosts_ring_digits.json"))});
  QDragEnterEvent enter({10, 10}, Qt::CopyAction, &data, Qt::LeftButton, {});
  QApplication::sendEvent(window_.get(), &enter);
  EXPECT_TRUE(enter.isAccepted());
  QDropEvent drop({10, 10}, Qt::CopyAction, &data, Qt::LeftButton, {});
  QApplication::sendEvent(window_.get(), &drop);
  EXPECT_EQ(window_->document().experiment().topology.hosts.size(), 4u);
}

TEST_F(MainWindowTest, other_dropped_files_are_refused) {
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile("/etc/hostname")});
  QDragEnterEvent enter({10, 10}, Qt::CopyAction, &data, Qt::LeftButton, {});
  QApplication::sendEvent(window_.get(), &enter);
  EXPECT_FALSE(enter.isAccepted());
}

TEST_F(MainWindowTest, run_with_problems_shows_them_and_focuses_the_first) {
  window_->center().canvas().place_in_middle(PaletteKind::cpu);
  window_->document().set_value("topology.hosts[0].devices[0].role", "idle");
  window_->start_run();
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_->center().errors().isVisible(); }));
  EXPECT_THAT(window_->document().problems(),
              testing::ElementsAre(base::IsProblem("no_worker", "topology.hosts")));
  EXPECT_THAT(window_->center().errors().text(), test::HasAll("role worker"));
  EXPECT_EQ(window_->runs().current(), nullptr);
}

TEST_F(MainWindowTest, requested_run_is_not_started_for_another_document) {
  ASSERT_TRUE(window_->open(example("one_device_digits.json")));
  window_->start_run();
  ASSERT_TRUE(window_->run_wanted());
  ASSERT_TRUE(window_->open(example("four_devices_mirrored_digits.json")));
  EXPECT_FALSE(window_->run_wanted());
  QSignalSpy judged(&window_->document(), &Document::judged);
  window_->document().judge();
  ASSERT_TRUE(judged.wait(20'000));
  EXPECT_EQ(window_->runs().current(), nullptr);
  EXPECT_TRUE(window_->center().errors().isHidden())
      << window_->center().errors().text().toStdString();
}

TEST_F(MainWindowTest, run_and_save_do_not_use_the_old_value_of_a_refused_text) {
  ASSERT_TRUE(window_->open(example("one_device_digits.json")));
  FieldEditor* batch = window_->panels().inspector.form("training").editor("batch_per_rank");
  auto* text = batch->findChild<QLineEdit*>();
  QApplication::setActiveWindow(window_.get());
  batch->setFocus();
  QTest::keyClick(batch->focusProxy(), Qt::Key_A, Qt::ControlModifier);
  QTest::keyClicks(batch->focusProxy(), "0");
  window_->start_run();
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_->center().errors().isVisible(); }));
  EXPECT_THAT(window_->center().errors().text(),
              test::HasAll("cannot run yet", "Training: Batch per rank"));
  EXPECT_EQ(window_->runs().current(), nullptr);
  EXPECT_EQ(text->text(), "0");
  EXPECT_TRUE(batch->focusProxy()->hasFocus());
  file_ = directory_.filePath("mine.json");
  EXPECT_FALSE(window_->files().save_as());
  EXPECT_TRUE(window_->center().errors().text().contains("cannot be saved"));
  EXPECT_FALSE(QFile::exists(file_));
  EXPECT_EQ(text->text(), "0") << "the typed text is kept";
}

TEST_F(MainWindowTest, run_with_insufficient_memory_is_not_started_and_advice_is_shown) {
  ASSERT_TRUE(window_->open(example("two_devices_gpt_grammar.json")));
  window_->document().edit("Small", [](experiment::Experiment& e) {
    e.topology.hosts[0].devices[0].memory_bytes = 1'000'000;
  });
  ASSERT_TRUE(QTest::qWaitFor(
      [&] { return !window_->panels().inspector.cost().memory_problems().empty(); }, 20'000));
  window_->start_run();
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_->center().errors().isVisible(); }));
  EXPECT_THAT(window_->center().errors().text(), test::HasAll("cannot run yet", "Memory"));
  EXPECT_EQ(window_->runs().current(), nullptr);
  window_->document().undo_stack().undo();
  EXPECT_TRUE(QTest::qWaitFor([&] { return !window_->center().errors().isVisible(); }))
      << "the memory suffices";
}

// A table with many lines, of which the last one is invalid.
TEST_F(MainWindowTest, run_validates_a_large_file_without_blocking_the_window) {
  const QString table = directory_.filePath("table.csv");
  QFile file(table);
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write("a,b,c,d,e,f,g,kind\n");
  for (int line = 0; line < 100'000; ++line) file.write("0.25,1.25,2.25,3.25,4.25,5.25,6.25,x\n");
  file.write("1,2,3\n");
  file.close();
  ASSERT_TRUE(window_->open(example("one_device_digits.json")));
  window_->document().edit("Train on a table", [&](experiment::Experiment& e) {
    e.data = {};
    e.data.kind = data::DataKind::csv;
    e.data.file = table.toStdString();
    e.data.label_column = "kind";
  });
  window_->start_run();
  EXPECT_FALSE(window_->controls().run_action().isEnabled()) << "a run is already requested";
  EXPECT_TRUE(window_->statusBar()->currentMessage().startsWith("Checking the experiment"))
      << "the window remains responsive";
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_->center().errors().isVisible(); }, 60'000));
  EXPECT_TRUE(window_->center().errors().text().contains("line 100002"))
      << window_->center().errors().text().toStdString();
  EXPECT_TRUE(window_->controls().run_action().isEnabled());
  EXPECT_TRUE(window_->statusBar()->currentMessage().isEmpty());
}

TEST_F(MainWindowTest, empty_canvas_has_a_hint_instead_of_an_error) {
  ASSERT_TRUE(window_->files().new_document());
  ASSERT_TRUE(QTest::qWaitFor([&] { return !window_->document().problems().empty(); }))
      << "the document has problems";
  EXPECT_TRUE(window_->document().shown_problems().empty());
  EXPECT_EQ(window_->workspace().dock("problems").windowTitle(), "Problems");
  ASSERT_TRUE(QTest::qWaitFor(
      [&] { return window_->panels().inspector.cost().cost_text().contains("Place a device"); }));
  window_->start_run();
  EXPECT_TRUE(window_->center().errors().text().contains("Drag a device"));
  window_->center().errors().findChild<QPushButton*>()->click();
  EXPECT_TRUE(window_->document().has_devices());
  EXPECT_TRUE(window_->center().errors().isHidden());
}

TEST_F(MainWindowTest, hint_of_an_empty_canvas_disappears_with_the_first_device) {
  ASSERT_TRUE(window_->files().new_document());
  window_->start_run();
  ASSERT_FALSE(window_->center().errors().isHidden());
  window_->center().canvas().place_in_middle(PaletteKind::host);
  EXPECT_FALSE(window_->center().errors().isHidden()) << "a host without devices cannot train";
  window_->center().canvas().place_in_middle(PaletteKind::cpu);
  EXPECT_TRUE(window_->center().errors().isHidden());
}

TEST_F(MainWindowTest, failed_run_offers_the_log_of_the_failed_rank) {
  const QString directory = directory_.filePath("runs/2026-01-01_00-00-00_failed");
  base::Json header = test::SyntheticRun{.ranks = 2}.header();
  header["experiment"] = {
      {"document", experiment::to_json(*experiment::load(
                       example("four_devices_mirrored_digits.json").toStdString()))}};
  ASSERT_TRUE(QDir().mkpath(directory));
  auto writer = *telemetry::RecordingWriter::create(
      directory.toStdString() + "/" + telemetry::kRecordingFile, header);
  for (const int rank : {0, 1}) {
    const base::Json line{
        {"level", "info"}, {"time_ns", 1}, {"text", "rank " + std::to_string(rank) + " is ready"}};
    ASSERT_TRUE(writer.append_json(telemetry::FrameType::log, rank, line));
  }
  const base::Json problem{{"code", "failed"},
                           {"where", "rank 1 (host0/cpu1)"},
                           {"what", "ended by signal 9"},
                           {"accepted", ""},
                           {"advice", "see its log"}};
  ASSERT_TRUE(writer.append_json(telemetry::FrameType::result, -1,
                                 {{"status", "failed"}, {"problem", problem}}));
  ASSERT_TRUE(writer.close());
  ASSERT_TRUE(window_->open(directory));
  ASSERT_TRUE(
      QTest::qWaitFor([&] { return window_->center().errors().text().contains("see its log"); }));
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_->document().has_devices(); }))
      << "the drawing of the run is shown";
  EXPECT_FALSE(window_->center().errors().isHidden()) << "the offer does not hide the error";
  const auto marked = [&] {
    const auto& overlay = window_->center().canvas().topology_scene().overlay();
    return overlay && overlay->devices.contains("cpu1") && overlay->devices.at("cpu1").failed;
  };
  EXPECT_TRUE(QTest::qWaitFor(marked)) << "the device that failed is marked on the drawing";
  auto* show = window_->center().errors().findChild<QPushButton*>();
  ASSERT_EQ(show->text(), "Show log");
  show->click();
  EXPECT_FALSE(window_->center().errors().isHidden()) << "the error remains beside the log";
  EXPECT_TRUE(QTest::qWaitFor([&] { return !window_->panels().log.visibleRegion().isEmpty(); }));
  EXPECT_EQ(window_->panels().log.text(), "0.000\trank 1\tinfo\trank 1 is ready");
}

TEST_F(MainWindowTest, missing_program_is_reported) {
  ASSERT_TRUE(window_->open(example("one_device_digits.json")));
  window_->start_run();
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_->center().errors().isVisible(); }));
  EXPECT_TRUE(window_->center().errors().text().contains("trainyard-cli"))
      << window_->center().errors().text().toStdString();
}

TEST_F(MainWindowTest, selection_on_the_canvas_is_shown_in_the_inspector) {
  ASSERT_TRUE(window_->open(example("four_devices_mirrored_digits.json")));
  window_->selection().set({{"cpu2"}, {}});
  EXPECT_FALSE(window_->panels().inspector.shows_experiment());
  window_->selection().clear();
  EXPECT_TRUE(window_->panels().inspector.shows_experiment());
}

TEST_F(MainWindowTest, hovered_algorithm_shows_its_flows_on_the_drawing) {
  ASSERT_TRUE(window_->open(example("four_devices_mirrored_digits.json")));
  AlgorithmTable& table = window_->panels().inspector.algorithms().table();
  ASSERT_TRUE(QTest::qWaitFor([&] { return !table.rows().empty(); }));
  const LogicalItem& logical = window_->center().canvas().topology_scene().logical();
  EXPECT_FALSE(logical.isVisible());
  table.setFocus(Qt::TabFocusReason);
  ASSERT_TRUE(QTest::qWaitFor([&] { return logical.isVisible(); }));
  EXPECT_FALSE(logical.arrows().empty());
  window_->center().canvas().setFocus();
  EXPECT_TRUE(QTest::qWaitFor([&] { return !logical.isVisible(); }));
}

TEST_F(MainWindowTest, pace_dial_sets_the_pace_of_the_next_run) {
  QComboBox* pace = window_->controls().pace();
  pace->setCurrentIndex(0);
  emit pace->activated(0);
  EXPECT_EQ(window_->document().experiment().run.seconds_per_step, 1.0);
  window_->findChild<QAction*>("undo")->trigger();
  EXPECT_EQ(pace->currentText(), "full speed");
}

// Leaves a recovery copy whose lock is not held, as after a crash.
void leave_unsaved(const std::string& name, const QTemporaryDir& directory) {
  const QString recovery = directory.filePath("recovery");
  QDir().mkpath(recovery);
  Document lost;
  lost.set_value("name", name);
  Autosave autosave(lost, directory.filePath("other"), 1);
  autosave.write_now();
  ASSERT_TRUE(
      QFile::copy(autosave.copy(), recovery + "/" + QString::fromStdString(name) + ".json"));
}

TEST_F(MainWindowTest, unsaved_changes_of_a_crash_are_offered_and_recovered) {
  leave_unsaved("lost work", directory_);
  window_->offer_recoveries();
  ASSERT_TRUE(window_->center().recovery_banner().isVisible());
  EXPECT_TRUE(window_->center().recovery_banner().text().contains("lost work"));
  window_->center().recovery_banner().findChild<QPushButton*>()->click();
  EXPECT_EQ(window_->document().experiment().name, "lost work");
  EXPECT_TRUE(window_->isWindowModified());
  EXPECT_FALSE(QFile::exists(directory_.filePath("recovery/lost work.json")))
      << "this window owns the recovery copy";
  EXPECT_TRUE(window_->center().recovery_banner().isHidden());
}

TEST_F(MainWindowTest, unsaved_changes_of_several_crashes_are_offered_in_turn) {
  for (const char* name : {"older", "newer"}) {
    leave_unsaved(name, directory_);
    QTest::qWait(20);
  }
  window_->offer_recoveries();
  EXPECT_TRUE(window_->center().recovery_banner().text().contains("newer"))
      << window_->center().recovery_banner().text().toStdString();
  QTest::mouseClick(window_->center().recovery_banner().findChildren<QToolButton*>().last(),
                    Qt::LeftButton);
  ASSERT_TRUE(window_->center().recovery_banner().isVisible());
  EXPECT_TRUE(window_->center().recovery_banner().text().contains("older"))
      << window_->center().recovery_banner().text().toStdString();
  window_->center().recovery_banner().findChild<QPushButton*>()->click();
  EXPECT_EQ(window_->document().experiment().name, "older");
  EXPECT_TRUE(window_->center().recovery_banner().isHidden());
}

}  // namespace
}  // namespace trainyard::ui
