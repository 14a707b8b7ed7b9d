// SPDX-License-Identifier: GPL-3.0-or-later
// What the meter of stalls finds, and whom it blames for what.
#include "tests/ui/stall_meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QTimer>
#include <atomic>
#include <thread>
#include <vector>

namespace trainyard::ui::test {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;

double worked() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

void work(double milliseconds) {
  for (const double end = worked() + milliseconds; worked() < end;) continue;
}

// As one event of the GUI thread.
void handle(const std::function<void()>& act) {
  bool done = false;
  QTimer::singleShot(0, [&] { act(), done = true; });
  while (!done) QApplication::processEvents();
}

TEST(StallMeter, finds_work_and_does_not_take_it_for_sleep) {
  const StallMeter meter;
  handle([] { work(60); });
  EXPECT_EQ(meter.long_work().size(), 1);
  EXPECT_GE(meter.longest_work(), 60);
  EXPECT_THAT(meter.long_sleeps(), IsEmpty());
}

TEST(StallMeter, finds_sleep_and_does_not_take_it_for_work) {
  const StallMeter meter;
  handle([] { std::this_thread::sleep_for(80ms); });
  EXPECT_EQ(meter.long_sleeps().size(), 1);
  EXPECT_GE(meter.longest_sleep(), 60);
  EXPECT_THAT(meter.long_work(), IsEmpty());
}

TEST(StallMeter, does_not_count_what_other_threads_took) {
  std::atomic<bool> over = false;
  std::vector<std::jthread> others;
  for (unsigned i = 0; i < 4 * std::thread::hardware_concurrency(); ++i)
    others.emplace_back([&] {
      while (!over) continue;
    });
  const StallMeter meter;
  handle([] { work(20); });
  over = true;
  EXPECT_THAT(meter.long_work(), IsEmpty());
  EXPECT_THAT(meter.long_sleeps(), IsEmpty());
}

}  // namespace
}  // namespace trainyard::ui::test
