// SPDX-License-Identifier: GPL-3.0-or-later
// Tests of the workbench: a QApplication without a screen, in the light theme, with settings of its own.
#include <gtest/gtest.h>

#include <QApplication>
#include <QStandardPaths>

#include "tests/ui/stall_meter.h"
#include "ui/theme/theme.h"

int main(int count, char** arguments) {
  if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  testing::InitGoogleTest(&count, arguments);
  trainyard::ui::test::MeteredApplication application(count, arguments);
  QStandardPaths::setTestModeEnabled(true);
  trainyard::ui::Theme::instance().apply(trainyard::ui::Theme::Kind::light);
  return RUN_ALL_TESTS();
}
