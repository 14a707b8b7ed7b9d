// SPDX-License-Identifier: GPL-3.0-or-later
// The window as a person uses it, with answers instead of dialogs. No run is started here.
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
#include "tests/ui/answered_window.h"
#include "tests/ui/charts/synthetic_run.h"

namespace trainyard::ui {
namespace {

using MainWindowTest = test::AnsweredWindow;

TEST_F(MainWindowTest, starts_with_the_welcome_page_and_no_run) {
  EXPECT_TRUE(window_->center().shows_welcome());
  EXPECT_EQ(window_->runs().current(), nullptr);
  EXPECT_FALSE(window_->controls().pause_action().isEnabled());
}

TEST_F(MainWindowTest, opening_an_example_shows_it_and_runs_nothing) {
  ASSERT_TRUE(window_->open(example("four_devices_mirrored_digits.json")));
  EXPECT_FALSE(window_->center().shows_welcome());
  EXPECT_TRUE(window_->windowTitle().startsWith("Four devices, mirrored, digits[*] — Trainyard"))
      << window_->windowTitle().toStdString();
  EXPECT_FALSE(window_->isWindowModified());
  EXPECT_EQ(window_->runs().current(), nullptr);
}

TEST_F(MainWindowTest, a_change_marks_the_title_and_undo_clears_it) {
  ASSERT_TRUE(window_->open(example("one_device_digits.json")));
  change();
  EXPECT_TRUE(window_->isWindowModified());
  window_->findChild<QAction*>("undo")->trigger();
  EXPECT_FALSE(window_->isWindowModified());
}

TEST_F(MainWindowTest, a_bad_file_is_an_error_that_names_it_and_changes_nothing) {
  QFile bad(directory_.filePath("bad.json"));
  ASSERT_TRUE(bad.open(QIODevice::WriteOnly));
  bad.write("{ \"version\": 1, \"trainig\": {} }");
  bad.close();
  EXPECT_FALSE(window_->open(bad.fileName()));
  EXPECT_TRUE(window_->center().errors().text().contains("trainig"))
      << window_->center().errors().text().toStdString();
  EXPECT_TRUE(window_->center().shows_welcome());
}

TEST_F(MainWindowTest,
       a_file_with_a_value_that_is_refused_is_not_opened_and_every_problem_says_what_to_do) {
  experiment::Experiment broken =
      *experiment::load(example("four_devices_mirrored_digits.json").toStdString());
  broken.training.batch_per_rank = 0;
  const std::string file = directory_.filePath("broken.json").toStdString();
  ASSERT_TRUE(experiment::save(broken, file));
  EXPECT_FALSE(window_->open(QString::fromStdString(file)));
  EXPECT_TRUE(window_->center().errors().text().contains(
      "Correct the file in a text editor, then open it again."))
      << window_->center().errors().text().toStdString();
  broken.strategy.kind = experiment::StrategyKind::one_device;
  ASSERT_TRUE(experiment::save(broken, file));
  EXPECT_FALSE(window_->open(QString::fromStdString(file)));
  const QString said = window_->center().errors().text();
  EXPECT_TRUE(said.contains("training.batch_per_rank") &&
              said.contains("Correct the file in a text editor, then open it again."))
      << said.toStdString();
  EXPECT_TRUE(said.contains("strategy.kind") && said.contains("use mirrored"))
      << said.toStdString();
  EXPECT_TRUE(window_->center().shows_welcome());
}

TEST_F(MainWindowTest, a_dropped_experiment_opens) {
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile(example("four_hosts_ring_digits.json"))});
  QDragEnterEvent enter({10, 10}, Qt::CopyAction, &data, Qt::LeftButton, {});
  QApplication::sendEvent(window_.get(), &enter);
  EXPECT_TRUE(enter.isAccepted());
  QDropEvent drop({10, 10}, Qt::CopyAction, &data, Qt::LeftButton, {});
  QApplication::sendEvent(window_.get(), &drop);
  EXPECT_EQ(window_->document().experiment().topology.hosts.size(), 4u);
}

TEST_F(MainWindowTest, something_else_that_is_dropped_is_refused) {
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile("/etc/hostname")});
  QDragEnterEvent enter({10, 10}, Qt::CopyAction, &data, Qt::LeftButton, {});
  QApplication::sendEvent(window_.get(), &enter);
  EXPECT_FALSE(enter.isAccepted());
}

TEST_F(MainWindowTest, run_with_problems_says_them_and_leads_to_the_first) {
  window_->center().canvas().place_in_middle(PaletteKind::cpu);
  window_->document().set_value("topology.hosts[0].devices[0].role", "idle");
  window_->start_run();
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_->center().errors().isVisible(); }));
  EXPECT_TRUE(window_->center().errors().text().contains("no device has the role worker"));
  EXPECT_EQ(window_->runs().current(), nullptr);
}

TEST_F(MainWindowTest, a_run_that_was_asked_for_is_not_started_of_another_document) {
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

TEST_F(MainWindowTest, neither_run_nor_save_takes_an_old_value_for_a_text_that_was_refused) {
  ASSERT_TRUE(window_->open(example("one_device_digits.json")));
  FieldEditor* batch = window_->panels().inspector.form("training").editor("batch_per_rank");
  auto* text = batch->findChild<QLineEdit*>();
  QApplication::setActiveWindow(window_.get());
  batch->setFocus();
  QTest::keyClick(batch->focusProxy(), Qt::Key_A, Qt::ControlModifier);
  QTest::keyClicks(batch->focusProxy(), "0");
  window_->start_run();
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_->center().errors().isVisible(); }));
  EXPECT_TRUE(window_->center().errors().text().startsWith("This experiment cannot run yet"))
      << window_->center().errors().text().toStdString();
  EXPECT_TRUE(window_->center().errors().text().contains("Training: Batch per rank"))
      << window_->center().errors().text().toStdString();
  EXPECT_EQ(window_->runs().current(), nullptr);
  EXPECT_EQ(text->text(), "0");
  EXPECT_TRUE(batch->focusProxy()->hasFocus());
  file_ = directory_.filePath("mine.json");
  EXPECT_FALSE(window_->files().save_as());
  EXPECT_TRUE(window_->center().errors().text().contains("cannot be saved"));
  EXPECT_FALSE(QFile::exists(file_));
  EXPECT_EQ(text->text(), "0") << "what was typed is still there";
}

TEST_F(MainWindowTest, what_devices_have_no_room_for_is_not_run_and_it_is_said_what_would_fit) {
  ASSERT_TRUE(window_->open(example("two_devices_gpt_grammar.json")));
  window_->document().edit("Small", [](experiment::Experiment& e) {
    e.topology.hosts[0].devices[0].memory_bytes = 1'000'000;
  });
  ASSERT_TRUE(QTest::qWaitFor(
      [&] { return !window_->panels().inspector.cost().memory_problems().empty(); }, 20'000));
  window_->start_run();
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_->center().errors().isVisible(); }));
  EXPECT_TRUE(window_->center().errors().text().startsWith("This experiment cannot run yet"))
      << window_->center().errors().text().toStdString();
  EXPECT_TRUE(window_->center().errors().text().contains("would run out of memory"))
      << window_->center().errors().text().toStdString();
  EXPECT_EQ(window_->runs().current(), nullptr);
  window_->document().undo_stack().undo();
  EXPECT_TRUE(QTest::qWaitFor([&] { return !window_->center().errors().isVisible(); }))
      << "it has room again";
}

// The lines of a table are many, and the last one is wrong.
TEST_F(MainWindowTest, run_looks_through_a_large_file_without_keeping_the_window_waiting) {
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
  EXPECT_FALSE(window_->controls().run_action().isEnabled()) << "it is wanted already";
  EXPECT_TRUE(window_->statusBar()->currentMessage().startsWith("Checking the experiment"))
      << "and the window goes on meanwhile";
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_->center().errors().isVisible(); }, 60'000));
  EXPECT_TRUE(window_->center().errors().text().contains("line 100002"))
      << window_->center().errors().text().toStdString();
  EXPECT_TRUE(window_->controls().run_action().isEnabled());
  EXPECT_TRUE(window_->statusBar()->currentMessage().isEmpty());
}

TEST_F(MainWindowTest, an_empty_canvas_says_what_to_do_and_scolds_nobody) {
  ASSERT_TRUE(window_->files().new_document());
  ASSERT_TRUE(QTest::qWaitFor([&] { return !window_->document().problems().empty(); }))
      << "it cannot run, and the document knows";
  EXPECT_TRUE(window_->document().shown_problems().empty());
  EXPECT_EQ(window_->workspace().dock("problems").windowTitle(), "Problems");
  ASSERT_TRUE(QTest::qWaitFor(
      [&] { return window_->panels().inspector.cost().cost_text().contains("Place a device"); }));
  window_->start_run();
  EXPECT_TRUE(window_->center().errors().text().contains("Drag a device from the palette"));
  window_->center().errors().findChild<QPushButton*>()->click();
  EXPECT_TRUE(window_->document().has_devices());
  EXPECT_TRUE(window_->center().errors().isHidden());
}

TEST_F(MainWindowTest, what_was_said_of_an_empty_canvas_goes_when_a_device_is_drawn) {
  ASSERT_TRUE(window_->files().new_document());
  window_->start_run();
  ASSERT_FALSE(window_->center().errors().isHidden());
  window_->center().canvas().place_in_middle(PaletteKind::host);
  EXPECT_FALSE(window_->center().errors().isHidden()) << "a host alone trains nothing";
  window_->center().canvas().place_in_middle(PaletteKind::cpu);
  EXPECT_TRUE(window_->center().errors().isHidden());
}

TEST_F(MainWindowTest, a_failed_run_leads_to_the_log_of_the_rank_that_failed) {
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
                           {"where", "rank 1 (cpu1 on host0)"},
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
      << "the run brings its drawing";
  EXPECT_FALSE(window_->center().errors().isHidden())
      << "which hides nothing that was said of the run";
  const auto marked = [&] {
    const auto& overlay = window_->center().canvas().topology_scene().overlay();
    return overlay && overlay->devices.contains("cpu1") && overlay->devices.at("cpu1").failed;
  };
  EXPECT_TRUE(QTest::qWaitFor(marked)) << "the device that failed is marked on the drawing";
  auto* show = window_->center().errors().findChild<QPushButton*>();
  ASSERT_EQ(show->text(), "Show log");
  show->click();
  EXPECT_FALSE(window_->center().errors().isHidden()) << "it is read beside the log";
  EXPECT_TRUE(QTest::qWaitFor([&] { return !window_->panels().log.visibleRegion().isEmpty(); }));
  EXPECT_EQ(window_->panels().log.text(), "0.000\trank 1\tinfo\trank 1 is ready");
}

TEST_F(MainWindowTest, a_program_that_is_missing_is_said_so) {
  ASSERT_TRUE(window_->open(example("one_device_digits.json")));
  window_->start_run();
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_->center().errors().isVisible(); }));
  EXPECT_TRUE(window_->center().errors().text().contains("trainyard-cli"))
      << window_->center().errors().text().toStdString();
}

TEST_F(MainWindowTest, selecting_on_the_canvas_shows_it_in_the_inspector) {
  ASSERT_TRUE(window_->open(example("four_devices_mirrored_digits.json")));
  window_->selection().set({{"cpu2"}, {}});
  EXPECT_FALSE(window_->panels().inspector.shows_experiment());
  window_->selection().clear();
  EXPECT_TRUE(window_->panels().inspector.shows_experiment());
}

TEST_F(MainWindowTest, who_points_at_an_algorithm_sees_on_the_drawing_who_sends_to_whom) {
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

TEST_F(MainWindowTest, the_pace_dial_sets_the_pace_of_the_next_run) {
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

TEST_F(MainWindowTest, work_that_a_crash_left_is_offered_and_recovered) {
  leave_unsaved("lost work", directory_);
  window_->offer_recoveries();
  ASSERT_TRUE(window_->center().recovery_banner().isVisible());
  EXPECT_TRUE(window_->center().recovery_banner().text().contains("lost work"));
  window_->center().recovery_banner().findChild<QPushButton*>()->click();
  EXPECT_EQ(window_->document().experiment().name, "lost work");
  EXPECT_TRUE(window_->isWindowModified());
  EXPECT_FALSE(QFile::exists(directory_.filePath("recovery/lost work.json")))
      << "it is this window's now";
  EXPECT_TRUE(window_->center().recovery_banner().isHidden());
}

TEST_F(MainWindowTest, of_several_crashes_all_work_is_offered_one_after_the_other) {
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
