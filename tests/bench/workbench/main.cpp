// SPDX-License-Identifier: GPL-3.0-or-later
// Frames a second of the workbench, and the longest time the GUI thread was away from its event loop. To reach: 30 frames a second,
// no stall over 50 ms.
#include <QApplication>
#include <QStandardPaths>
#include <cstdio>

#include "tests/bench/workbench/figures.h"
#include "ui/theme/theme.h"

namespace {

constexpr double kWantedRate = 30, kLongestStallMilliseconds = 50;

bool stall_passes(const char* where, double milliseconds) {
  std::printf("%-58s longest stall %5.1f ms   (to reach: < %.0f)\n", where, milliseconds, kLongestStallMilliseconds);
  return milliseconds < kLongestStallMilliseconds;
}

}  // namespace

int main(int count, char** arguments) {
  if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication application(count, arguments);
  QStandardPaths::setTestModeEnabled(true);
  trainyard::ui::Theme::instance().apply(trainyard::ui::Theme::Kind::light);
  const auto drawing = trainyard::bench::live_drawing();
  std::printf("%-58s %5.1f frames a second, %.1f ms a frame   (to reach: %.0f)\n", "200 devices; 4 charts of 8 series of 100,000 points",
              drawing.frames_per_second, 1000 / drawing.frames_per_second, kWantedRate);
  bool passes = drawing.frames_per_second >= kWantedRate;
  passes &= stall_passes("the same", drawing.longest_stall);
  passes &= stall_passes("a log of 100 MB, opened, filtered, searched and copied", trainyard::bench::long_log_stall());
  passes &= stall_passes("the window while four processes train", trainyard::bench::live_window_stall());
  return passes ? 0 : 1;
}
