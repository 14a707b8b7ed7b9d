// SPDX-License-Identifier: GPL-3.0-or-later
// The window as a person uses it, with answers instead of dialogs. No run is started here.
#include "ui/main_window.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QComboBox>
#include <QDir>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QFile>
#include <QMenuBar>
#include <QMimeData>
#include <QPushButton>
#include <QTabBar>
#include <QTemporaryDir>
#include <QTest>
#include <set>

#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

const QString kExamples = QString(TRAINYARD_SOURCE_DIR) + "/resources/experiments";

class MainWindowTest : public testing::Test {
 protected:
  MainWindowTest() { window_ = make(); }
  ~MainWindowTest() override { Theme::instance().apply(Theme::Kind::light); }

  std::unique_ptr<MainWindow> make() {
    ui::Setup setup;
    setup.services = {{}, "/nowhere/trainyard-cli", directory_.filePath("runs"), kExamples};
    setup.settings_file = directory_.filePath("settings.ini");
    setup.recovery = directory_.filePath("recovery");
    setup.questions = Questions{[this](const QString&) { return ++asked_, save_answer_; }, [](const QString&) { return LiveRunAnswer::cancel; },
                                [this] { return file_; }, [this](const QString&) { return file_; }, [](const QString&) { return QString(); }};
    auto window = std::make_unique<MainWindow>(setup);
    window->resize(1440, 900);
    window->show();
    return window;
  }
  void change() { window_->document().set_value("training.batch_per_rank", 77); }
  QString example(const char* name) { return kExamples + "/" + name; }

  QTemporaryDir directory_;
  SaveAnswer save_answer_ = SaveAnswer::cancel;
  int asked_ = 0;
  QString file_;
  std::unique_ptr<MainWindow> window_;
};

TEST_F(MainWindowTest, starts_with_the_welcome_page_and_no_run) {
  EXPECT_TRUE(window_->shows_welcome());
  EXPECT_EQ(window_->runs().current(), nullptr);
  EXPECT_FALSE(window_->controls().pause_action().isEnabled());
}

TEST_F(MainWindowTest, opening_an_example_shows_it_and_runs_nothing) {
  ASSERT_TRUE(window_->open(example("four_devices_mirrored_digits.json")));
  EXPECT_FALSE(window_->shows_welcome());
  EXPECT_TRUE(window_->windowTitle().startsWith("four_devices_mirrored_digits.json[*] — Trainyard"));
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

TEST_F(MainWindowTest, save_as_writes_a_file_that_opens_again) {
  ASSERT_TRUE(window_->open(example("one_device_digits.json")));
  change();
  file_ = directory_.filePath("mine.json");
  EXPECT_TRUE(window_->files().save_as());
  EXPECT_FALSE(window_->isWindowModified());
  EXPECT_TRUE(window_->windowTitle().startsWith("mine.json"));
  ASSERT_TRUE(window_->files().new_document());
  ASSERT_TRUE(window_->open(file_));
  EXPECT_EQ(window_->document().experiment().training.batch_per_rank, 77);
}

TEST_F(MainWindowTest, a_file_that_cannot_be_saved_is_said_with_what_to_do) {
  change();
  file_ = "/proc/nothing/mine.json";
  EXPECT_FALSE(window_->files().save());
  EXPECT_TRUE(window_->errors().isVisible());
  EXPECT_TRUE(window_->errors().text().contains("cannot be saved"));
  EXPECT_TRUE(window_->isWindowModified());
}

TEST_F(MainWindowTest, unsaved_changes_are_asked_about_before_another_document) {
  change();
  EXPECT_FALSE(window_->files().new_document());
  EXPECT_EQ(asked_, 1);
  EXPECT_EQ(window_->document().experiment().training.batch_per_rank, 77);
  save_answer_ = SaveAnswer::discard;
  EXPECT_TRUE(window_->files().new_document());
  EXPECT_EQ(window_->document().experiment().training.batch_per_rank, 32);
}

TEST_F(MainWindowTest, closing_asks_and_cancel_keeps_the_window) {
  change();
  EXPECT_FALSE(window_->close());
  EXPECT_TRUE(window_->isVisible());
  save_answer_ = SaveAnswer::save;
  file_ = directory_.filePath("kept.json");
  EXPECT_TRUE(window_->close());
  EXPECT_TRUE(QFile::exists(file_));
}

TEST_F(MainWindowTest, a_bad_file_is_an_error_that_names_it_and_changes_nothing) {
  QFile bad(directory_.filePath("bad.json"));
  ASSERT_TRUE(bad.open(QIODevice::WriteOnly));
  bad.write("{ \"version\": 1, \"trainig\": {} }");
  bad.close();
  EXPECT_FALSE(window_->open(bad.fileName()));
  EXPECT_TRUE(window_->errors().text().contains("trainig")) << window_->errors().text().toStdString();
  EXPECT_TRUE(window_->shows_welcome());
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
  window_->canvas().place_in_middle(PartKind::cpu);
  window_->document().set_value("topology.hosts[0].devices[0].role", "idle");
  EXPECT_FALSE(window_->start_run());
  EXPECT_TRUE(window_->errors().text().contains("no device has the role worker"));
  EXPECT_EQ(window_->runs().current(), nullptr);
}

TEST_F(MainWindowTest, an_empty_canvas_says_what_to_do_and_scolds_nobody) {
  ASSERT_TRUE(window_->files().new_document());
  ASSERT_TRUE(QTest::qWaitFor([&] { return !window_->document().problems().empty(); })) << "it cannot run, and the document knows";
  EXPECT_TRUE(window_->document().shown_problems().empty());
  EXPECT_EQ(window_->workspace().dock("problems").windowTitle(), "Problems");
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_->inspector().cost().cost_text().contains("Place a device"); }));
  EXPECT_FALSE(window_->start_run());
  EXPECT_TRUE(window_->errors().text().contains("Drag a device from the palette"));
  window_->errors().findChild<QPushButton*>()->click();
  EXPECT_TRUE(window_->document().has_devices());
  EXPECT_TRUE(window_->errors().isHidden());
}

TEST_F(MainWindowTest, a_program_that_is_missing_is_said_so) {
  ASSERT_TRUE(window_->open(example("one_device_digits.json")));
  EXPECT_FALSE(window_->start_run());
  EXPECT_TRUE(window_->errors().text().contains("trainyard-cli")) << window_->errors().text().toStdString();
}

TEST_F(MainWindowTest, every_action_of_the_menus_has_a_shortcut_of_its_own) {
  std::set<QString> seen;
  const std::function<void(const QMenu&)> visit = [&](const QMenu& menu) {
    for (const QAction* action : menu.actions()) {
      if (action->menu()) {
        if (action->text() != "Open &recent") visit(*action->menu());
      } else if (!action->isSeparator()) {
        EXPECT_FALSE(action->shortcut().isEmpty()) << action->text().toStdString();
        EXPECT_TRUE(seen.insert(action->shortcut().toString()).second) << action->text().toStdString() << " " << action->shortcut().toString().toStdString();
      }
    }
  };
  for (const QAction* action : window_->menuBar()->actions()) visit(*action->menu());
  EXPECT_GT(seen.size(), 40u);
}

TEST_F(MainWindowTest, the_welcome_page_has_the_window_for_itself) {
  EXPECT_FALSE(window_->workspace().dock("inspector").isVisible());
  window_->show_welcome(false);
  EXPECT_TRUE(window_->workspace().dock("inspector").isVisible());
}

TEST_F(MainWindowTest, resetting_the_layout_leaves_the_welcome_page_the_window) {
  window_->workspace().reset();
  for (const char* dock : {"inspector", "palette", "charts", "runs"}) EXPECT_FALSE(window_->workspace().dock(dock).isVisible()) << dock;
  window_->show_welcome(false);
  EXPECT_TRUE(window_->workspace().dock("charts").isVisible());
}

TEST_F(MainWindowTest, no_layout_leaves_a_stray_bar_of_tabs) {
  const auto stray = [&] {
    QStringList bars;
    for (const QTabBar* bar : window_->findChildren<QTabBar*>(QString(), Qt::FindDirectChildrenOnly))
      if (bar->isVisible() && bar->count() != 5 && bar->geometry().intersects(window_->rect()))
        bars << QString("%1 tabs at %2").arg(bar->count()).arg(bar->y());
    return bars.join(", ").toStdString();
  };
  window_->workspace().reset();
  window_->resize(1600, 1000);
  ASSERT_TRUE(window_->open(example("four_devices_mirrored_digits.json")));
  for (int round = 0; round < 3; ++round) {
    window_->workspace().reset();
    QCoreApplication::processEvents();
    EXPECT_EQ(stray(), "");
    window_->show_welcome(round == 1);
    QCoreApplication::processEvents();
  }
  window_->show_welcome(false);
  QCoreApplication::processEvents();
  EXPECT_EQ(stray(), "");
}

TEST_F(MainWindowTest, the_arrangement_of_the_charts_is_kept) {
  window_->charts().grid().move("memory", 0);
  window_->charts().grid().set_shown("accuracy", false);
  const QStringList arranged = window_->charts().grid().arrangement();
  ASSERT_TRUE(window_->close());
  window_ = make();
  EXPECT_EQ(window_->charts().grid().arrangement(), arranged);
}

TEST_F(MainWindowTest, panels_are_hidden_and_come_back_where_they_were) {
  window_->show_welcome(false);
  window_->workspace().dock("palette").hide();
  ASSERT_TRUE(window_->close());
  window_ = make();
  window_->show_welcome(false);
  EXPECT_TRUE(window_->workspace().dock("inspector").isVisible());
  EXPECT_FALSE(window_->workspace().dock("palette").isVisible());
  window_->workspace().reset();
  EXPECT_TRUE(window_->workspace().dock("palette").isVisible());
}

TEST_F(MainWindowTest, perspectives_arrange_the_panels) {
  window_->show_welcome(false);
  window_->workspace().set_perspective(Workspace::Perspective::compare);
  EXPECT_FALSE(window_->workspace().dock("inspector").isVisible());
  EXPECT_TRUE(window_->workspace().dock("runs").isVisible());
  EXPECT_TRUE(window_->workspace().dock("charts").isVisible());
  const auto left_of = [&](const char* a, const char* b) {
    const QRect first = window_->workspace().dock(a).geometry(), second = window_->workspace().dock(b).geometry();
    return first.right() < second.left() && !window_->workspace().dock(a).visibleRegion().isEmpty();
  };
  EXPECT_TRUE(QTest::qWaitFor([&] { return left_of("runs", "charts"); })) << "side by side";
  window_->workspace().set_perspective(Workspace::Perspective::build);
  EXPECT_TRUE(window_->workspace().dock("palette").isVisible());
  EXPECT_TRUE(window_->workspace().dock("inspector").isVisible());
}

TEST_F(MainWindowTest, selecting_on_the_canvas_shows_it_in_the_inspector) {
  ASSERT_TRUE(window_->open(example("four_devices_mirrored_digits.json")));
  window_->selection().set({{"cpu2"}, {}});
  EXPECT_FALSE(window_->inspector().shows_experiment());
  window_->selection().clear();
  EXPECT_TRUE(window_->inspector().shows_experiment());
}

TEST_F(MainWindowTest, the_pace_dial_sets_the_pace_of_the_next_run) {
  QComboBox* pace = window_->controls().pace();
  pace->setCurrentIndex(0);
  emit pace->activated(0);
  EXPECT_EQ(window_->document().experiment().run.seconds_per_step, 1.0);
  window_->findChild<QAction*>("undo")->trigger();
  EXPECT_EQ(pace->currentText(), "full speed");
}

TEST_F(MainWindowTest, work_that_a_crash_left_is_offered_and_recovered) {
  const QString recovery = directory_.filePath("recovery");
  QDir().mkpath(recovery);
  Document lost;
  lost.set_value("name", "lost work");
  Autosave autosave(lost, directory_.filePath("other"), 1);
  autosave.write_now();
  ASSERT_TRUE(QFile::copy(autosave.copy(), recovery + "/left.json"));  // nobody holds its lock
  window_->offer_what_was_left();
  ASSERT_TRUE(window_->offers().isVisible());
  EXPECT_TRUE(window_->offers().text().contains("lost work"));
  window_->offers().findChild<QPushButton*>()->click();
  EXPECT_EQ(window_->document().experiment().name, "lost work");
  EXPECT_TRUE(window_->isWindowModified());
  EXPECT_FALSE(QFile::exists(recovery + "/left.json")) << "it is this window's now";
}

}  // namespace
}  // namespace trainyard::ui
