// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include "ui/model/series/series_derived.h"

namespace trainyard::ui {
namespace {

std::vector<double> taken(StepOrder& order) {
  std::vector<double> steps;
  while (const auto point = order.next()) steps.push_back(point->step);
  return steps;
}

TEST(StepOrder, returns_steps_in_order) {
  StepOrder order;
  order.add({2, 0, 1, 0});
  order.add({1, 0, 2, 0});
  EXPECT_TRUE(taken(order).empty());
  order.add({0, 0, 3, 0});
  EXPECT_EQ(taken(order), (std::vector<double>{0, 1, 2}));
  order.add({4, 0, 4, 0});
  order.add({3, 0, 5, 0});
  EXPECT_EQ(taken(order), (std::vector<double>{3, 4}));
}

TEST(StepOrder, skips_a_step_that_blocks_too_many) {
  StepOrder order;
  for (std::size_t i = 1; i <= StepOrder::kWaiting; ++i)
    order.add({static_cast<double>(i), 0, 0, 0});
  EXPECT_TRUE(taken(order).empty());
  order.add({StepOrder::kWaiting + 1.0, 0, 0, 0});
  EXPECT_EQ(taken(order).size(), StepOrder::kWaiting + 1);
  order.add({0, 0, 0, 0});
  EXPECT_TRUE(taken(order).empty()) << "the step was already skipped";
}

}  // namespace
}  // namespace trainyard::ui
