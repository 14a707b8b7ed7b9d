// SPDX-License-Identifier: GPL-3.0-or-later
// F1 in the main window opens the section of the manual for what has the focus.
#include <gtest/gtest.h>

#include <QApplication>
#include <QDockWidget>
#include <QMenuBar>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>
#include <QTreeWidget>

#include "tests/ui/patience.h"
#include "ui/main_window.h"

namespace trainyard::ui {
namespace {

const QString kResources = TRAINYARD_SOURCE_DIR "/resources";

class ManualKeys : public testing::Test {
 protected:
  ManualKeys() {
    ui::Setup setup;
    setup.services = {{},
                      "/nowhere/trainyard-cli",
                      directory_.filePath("runs"),
                      kResources + "/experiments",
                      kResources + "/manual"};
    setup.settings_file = directory_.filePath("settings.ini");
    setup.recovery = directory_.filePath("recovery");
    window_ = std::make_unique<MainWindow>(setup);
    window_->resize(1280, 800);
    window_->show();
  }
  void open_example() {
    ASSERT_TRUE(window_->open(kResources + "/experiments/four_devices_mirrored_digits.json"));
  }
  // Returns the location that F1 opens while a widget has the focus.
  std::string place_from(QWidget* focused) {
    window_->activateWindow();
    EXPECT_TRUE(QTest::qWaitForWindowActive(window_.get()));
    if (focused) focused->setFocus();
    QApplication::processEvents();
    QWidget* target = QApplication::focusWidget();
    QTest::keyClick(target ? target : window_.get(), Qt::Key_F1);
    return manual::to_string(shown());
  }
  static QWidget* focusable_in(const QWidget& panel) {
    for (QWidget* child : panel.findChildren<QWidget*>())
      if (child->isVisible() && child->isEnabled() && child->focusPolicy() != Qt::NoFocus)
        return child;
    return nullptr;
  }
  manual::ManualLocation shown() {
    ManualWindow* manual = window_->manual().window();
    EXPECT_TRUE(manual && manual->isVisible());
    return manual ? manual->browser().place() : manual::ManualLocation();
  }

  QTemporaryDir directory_;
  std::unique_ptr<MainWindow> window_;
};

TEST_F(ManualKeys, field_leads_to_its_row) {
  open_example();
  FieldForm& training = window_->panels().inspector.form("training");
  EXPECT_EQ(place_from(training.editor("clip_norm")), "training.md#fields");
  EXPECT_EQ(shown().word, "training.clip_norm");
  EXPECT_EQ(place_from(training.editor("optimizer.learning_rate")), "training.md#fields");
  EXPECT_EQ(shown().word, "training.optimizer.learning_rate");
  EXPECT_EQ(place_from(window_->panels().inspector.form("strategy").editor("kind")), "mirrored.md");
  EXPECT_EQ(place_from(window_->panels().inspector.form("").editor("name")),
            "experiment_document.md#fields");
}

TEST_F(ManualKeys, fields_of_devices_and_layers_lead_to_their_rows) {
  open_example();
  window_->panels().inspector.go_to("model.layers[0].units");
  EXPECT_EQ(place_from(nullptr), "models.md#fields");
  EXPECT_EQ(shown().word, "model.layers[0].units");
  window_->panels().inspector.go_to("topology.hosts[0].devices[1].cores");
  EXPECT_EQ(place_from(nullptr), "topology.md#fields");
  EXPECT_EQ(shown().word, "topology.hosts[0].devices[0].cores");
}

TEST_F(ManualKeys, every_panel_raised_by_its_shortcut_has_a_page) {
  const auto loaded = manual::Manual::load((kResources + "/manual").toStdString());
  ASSERT_TRUE(loaded);
  open_example();
  int raised = 0;
  for (QDockWidget* dock : window_->findChildren<QDockWidget*>()) {
    if (!dock->visibleRegion().isEmpty()) continue;  // its shortcut would hide it
    ++raised;
    dock->toggleViewAction()->trigger();
    const auto page = loaded->panel(dock->objectName().toStdString());
    ASSERT_TRUE(page) << dock->objectName().toStdString();
    EXPECT_EQ(place_from(nullptr), manual::to_string(*page)) << dock->objectName().toStdString();
  }
  EXPECT_GE(raised, 9);
}

TEST_F(ManualKeys, every_editor_of_the_inspector_is_in_the_manual) {
  open_example();
  const auto loaded = manual::Manual::load((kResources + "/manual").toStdString());
  ASSERT_TRUE(loaded);
  int editors = 0;
  for (const FieldEditor* editor : window_->panels().inspector.findChildren<FieldEditor*>()) {
    const std::string field = manual_topic_of(editor).field.toStdString();
    if (field.empty() && !editor->isVisible()) continue;  // of a form without a selection
    const auto place = loaded->field(field);
    ASSERT_TRUE(place) << field;
    ++editors;
  }
  EXPECT_GT(editors, 40);
}

TEST_F(ManualKeys, every_panel_has_a_page_that_f1_opens) {
  open_example();
  const auto loaded = manual::Manual::load((kResources + "/manual").toStdString());
  ASSERT_TRUE(loaded);
  const auto docks = window_->findChildren<QDockWidget*>();
  EXPECT_GE(docks.size(), 14);
  for (const QDockWidget* dock : docks)
    EXPECT_TRUE(loaded->panel(dock->objectName().toStdString()))
        << dock->objectName().toStdString();
  window_->workspace().raise("log");
  EXPECT_EQ(place_from(focusable_in(window_->panels().log)), "log_and_problems.md#log");
  EXPECT_EQ(place_from(&window_->center().canvas()), "canvas.md");
}

TEST_F(ManualKeys, problem_leads_to_its_explanation) {
  open_example();
  window_->document().set_value("strategy.kind", "one_device");
  ASSERT_TRUE(
      QTest::qWaitFor([&] { return !window_->document().problems().empty(); }, test::kPatience));
  window_->workspace().raise("problems");
  auto* list = window_->workspace().dock("problems").findChild<QTreeWidget*>();
  ASSERT_TRUE(QTest::qWaitFor([&] { return list->topLevelItemCount() > 0; }, test::kPatience));
  list->setCurrentItem(list->topLevelItem(0));
  EXPECT_EQ(place_from(list), "problems.md#problems-of-the-experiment");
  EXPECT_EQ(shown().word, "too_many_workers");
}

TEST_F(ManualKeys, menu_opens_the_contents_and_ctrl_f1_the_shortcuts) {
  open_example();
  const QMenu* help = window_->menuBar()->actions().last()->menu();
  const auto action = [&](const QString& text) -> QAction* {
    for (QAction* entry : help->actions())
      if (QString(entry->text()).remove('&') == text) return entry;
    return nullptr;
  };
  ASSERT_NE(action("Manual"), nullptr);
  action("Manual")->trigger();
  EXPECT_EQ(shown().file, "index.md");
  ASSERT_NE(action("Keyboard shortcuts"), nullptr);
  EXPECT_EQ(action("Keyboard shortcuts")->shortcut(), QKeySequence("Ctrl+F1"));
}

}  // namespace
}  // namespace trainyard::ui
