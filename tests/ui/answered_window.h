// SPDX-License-Identifier: GPL-3.0-or-later
// The window with answers instead of dialogs and separate settings, runs and unsaved changes.
#pragma once

#include <gtest/gtest.h>

#include <QTemporaryDir>
#include <memory>

#include "tests/ui/answering_coordinator.h"
#include "ui/main_window.h"
#include "ui/theme/theme.h"

namespace trainyard::ui::test {

inline const QString kExamples = QString(TRAINYARD_SOURCE_DIR) + "/resources/experiments";

// It starts no run. A run is live if its directory has a coordinator.
class AnsweredWindow : public testing::Test {
 protected:
  AnsweredWindow() { window_ = make(); }
  ~AnsweredWindow() override { Theme::instance().apply(Theme::Kind::light); }

  ui::Setup setup() {
    ui::Setup setup;
    setup.services = {connect_to_answering, "/nowhere/trainyard-cli", directory_.filePath("runs"),
                      kExamples};
    setup.settings_file = directory_.filePath("settings.ini");
    setup.recovery = directory_.filePath("recovery");
    setup.questions =
        Questions{[this](const QString&) { return ++asked_, save_answer_; },
                  [this](const QString& run) { return asked_about_ << run, LiveRunAnswer::cancel; },
                  [this] { return file_; },
                  [this](const QString&) { return file_; },
                  [](const QString&) { return QString(); },
                  [](const QString&, const QString&, const QString&) { return false; }};
    return setup;
  }
  std::unique_ptr<MainWindow> make() { return make(setup()); }
  static std::unique_ptr<MainWindow> make(const ui::Setup& setup) {
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
  QStringList asked_about_;  // live runs that the closing window asked about
  QString file_;
  std::unique_ptr<MainWindow> window_;
};

}  // namespace trainyard::ui::test
