// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/plan/verdict.h"

#include <gtest/gtest.h>

#include "core/experiment/document.h"
#include "core/strategy/strategy.h"

namespace trainyard::ui {
namespace {

base::Result<sim::Verdict> of_example(const std::string& name, std::stop_token stop = {}) {
  const auto given = experiment::load(TRAINYARD_SOURCE_DIR "/resources/experiments/" + name);
  if (!given) return base::fail(given.error().front());
  return experiment::resolve(*given, ".").and_then([&](const experiment::Resolved& resolved) {
    return strategy::make_plan(resolved).and_then(
        [&](const plan::Plan& plan) { return simulate_verdict(resolved, plan, stop); });
  });
}

TEST(Verdict, efficiency_of_one_device_is_1) {
  const auto alone = of_example("one_device_digits.json");
  ASSERT_TRUE(alone) << base::to_string(alone.error());
  EXPECT_DOUBLE_EQ(alone->efficiency(), 1);
}

TEST(Verdict, efficiency_of_four_devices_is_the_time_of_one_over_the_time_of_four) {
  const auto four = of_example("four_devices_mirrored_digits.json");
  ASSERT_TRUE(four) << base::to_string(four.error());
  EXPECT_EQ(four->ranks, 4);
  EXPECT_DOUBLE_EQ(four->efficiency(), four->one_device_seconds / (4 * four->step_seconds));
  EXPECT_GT(four->efficiency(), 0);
  EXPECT_LT(four->efficiency(), 1) << "transfers take time";
}

TEST(Verdict, can_be_canceled) {
  std::stop_source source;
  source.request_stop();
  const auto stopped = of_example("four_devices_mirrored_digits.json", source.get_token());
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, base::ProblemCode::canceled) << base::to_string(stopped.error());
}

}  // namespace
}  // namespace trainyard::ui
