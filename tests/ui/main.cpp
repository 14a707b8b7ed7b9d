// SPDX-License-Identifier: GPL-3.0-or-later
// Main function of tests of the workbench: an offscreen QApplication in the light theme with
// separate settings.
#include <gtest/gtest.h>

#include <QApplication>
#include <QStandardPaths>

#include "ui/theme/theme.h"

int main(int count, char** arguments) {
  if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  testing::InitGoogleTest(&count, arguments);
  const QApplication application(count, arguments);
  QStandardPaths::setTestModeEnabled(true);
  trainyard::ui::Theme::instance().apply(trainyard::ui::Theme::Kind::light);
  return RUN_ALL_TESTS();
}
