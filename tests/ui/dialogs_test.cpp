// SPDX-License-Identifier: GPL-3.0-or-later
// Every dialog of the menus opens, has a title, and closes on Escape without changes.
#include <gtest/gtest.h>

#include <QApplication>
#include <QDialog>
#include <QFile>
#include <QMenuBar>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>
#include <QTreeWidget>

#include "tests/ui/charts/synthetic_run.h"
#include "ui/main_window.h"

namespace trainyard::ui {
namespace {

class Dialogs : public testing::Test {
 protected:
  Dialogs() {
    test::SyntheticRun().record(
        directory_.filePath("runs/2026-01-02_03-04-05_synthetic").toStdString(), 20);
    ui::Setup setup;
    setup.services = {{},
                      "/nowhere/trainyard-cli",
                      directory_.filePath("runs"),
                      TRAINYARD_SOURCE_DIR "/resources/experiments"};
    setup.settings_file = directory_.filePath("settings.ini");
    setup.recovery = directory_.filePath("recovery");
    window_ = std::make_unique<MainWindow>(setup);  // with its real dialogs
    window_->resize(1280, 800);
    window_->show();
    window_->activateWindow();
    EXPECT_TRUE(QTest::qWaitForWindowActive(window_.get()));
  }

  // Titles of the dialogs that appeared while `act` ran; each is closed by Escape immediately.
  QStringList dialogs_of(const std::function<void()>& act) {
    QStringList titles;
    QTimer watch;
    QObject::connect(&watch, &QTimer::timeout, [&] {
      auto* dialog = qobject_cast<QDialog*>(QApplication::activeModalWidget());
      if (!dialog || !dialog->isVisible()) return;
      EXPECT_FALSE(dialog->grab().isNull());
      titles << dialog->windowTitle();
      QTest::keyClick(dialog, Qt::Key_Escape);
    });
    watch.start(10);
    act();
    return titles;
  }
  QAction* find(const QMenu& menu, const QString& text) {
    for (QAction* action : menu.actions()) {
      if (QString(action->text()).remove('&') == text) return action;
      if (QAction* below = action->menu() ? find(*action->menu(), text) : nullptr) return below;
    }
    return nullptr;
  }
  QStringList dialogs_of(const QString& menu_text) {
    for (const QAction* menu : window_->menuBar()->actions())
      if (QAction* action = find(*menu->menu(), menu_text))
        return dialogs_of([action] { action->trigger(); });
    ADD_FAILURE() << "no action " << menu_text.toStdString();
    return {};
  }
  void change() { window_->document().set_value("training.batch_per_rank", 77); }

  QTemporaryDir directory_;
  std::unique_ptr<MainWindow> window_;
};

TEST_F(Dialogs, file_dialogs_open_and_close) {
  EXPECT_EQ(dialogs_of("Open ..."), QStringList("Open experiment"));
  EXPECT_EQ(dialogs_of("Open run ..."), QStringList("Open the directory of a run"));
  EXPECT_EQ(dialogs_of("Save as ..."), QStringList("Save experiment"));
  EXPECT_EQ(dialogs_of("Save"), QStringList("Save experiment"))
      << "an unsaved document requires a name";
}

TEST_F(Dialogs, question_about_unsaved_changes_cancels_on_escape) {
  change();
  EXPECT_EQ(dialogs_of("New"), QStringList("Save changes?"));
  EXPECT_EQ(dialogs_of("Quit"), QStringList("Save changes?"));
  EXPECT_TRUE(window_->isVisible());
  EXPECT_EQ(window_->document().experiment().training.batch_per_rank, 77);
}

TEST_F(Dialogs, help_dialogs_open_and_close) {
  EXPECT_EQ(dialogs_of("Keyboard shortcuts"), QStringList("Keyboard shortcuts"));
  EXPECT_EQ(dialogs_of("About Trainyard"), QStringList("About Trainyard"));
}

TEST_F(Dialogs, chart_dialogs_open_and_close) {
  window_->center().show_welcome(false);
  for (const char* text : {"Export as PNG…", "Export as SVG…", "Export all points as CSV…"}) {
    QAction* action = find(window_->panels().charts.plot(ChartKind::loss).menu(), text);
    ASSERT_TRUE(action) << text;
    EXPECT_EQ(dialogs_of([action] { action->trigger(); }), QStringList("Export chart"));
  }
}

TEST_F(Dialogs, trash_of_a_run_requires_confirmation) {
  window_->center().show_welcome(false);
  window_->workspace().raise("runs");
  RunsPanel& panel = window_->panels().runs;
  ASSERT_TRUE(QTest::qWaitFor([&] { return panel.entries().size() == 1; }));
  EXPECT_EQ(dialogs_of([&] { panel.ask_delete(panel.entries().front().directory); }),
            QStringList("Move run to trash"));
  EXPECT_TRUE(QFile::exists(panel.entries().front().directory));
}

}  // namespace
}  // namespace trainyard::ui
