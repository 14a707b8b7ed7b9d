// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/control/slowness.h"

#include <gtest/gtest.h>

namespace trainyard::run {
namespace {

TEST(SlowdownModel, without_slowdown_does_not_change_the_time) {
  const SlowdownModel none(1, 0, 1, 0);
  EXPECT_FALSE(none.active());
  EXPECT_EQ(none.target_ns(0, 0, 7, 12'345), 12'345);
}

TEST(SlowdownModel, multiplies_the_time_of_a_straggler) {
  const SlowdownModel slow(1, 0, 5, 0);
  EXPECT_TRUE(slow.active());
  EXPECT_EQ(slow.target_ns(0, 0, 7, 1'000), 5'000);
}

TEST(SlowdownModel, jitter_depends_on_step_rank_and_seed_and_stays_in_range) {
  const SlowdownModel slow(9, 3, 2, 0.5), again(9, 3, 2, 0.5), other(9, 4, 2, 0.5);
  double sum = 0;
  for (int step = 0; step < 1000; ++step) {
    const double factor = slow.factor(step);
    EXPECT_GE(factor, 2);
    EXPECT_LT(factor, 3);
    EXPECT_EQ(factor, again.factor(step));
    EXPECT_NE(factor, other.factor(step));
    sum += factor;
  }
  EXPECT_NEAR(sum / 1000, 2.5, 0.05) << "its mean is half the jitter";
}

TEST(SlowdownModel, can_change_while_ops_run) {
  SlowdownModel slow(1, 0, 1, 0);
  slow.set(10, 0);
  EXPECT_EQ(slow.target_ns(0, 0, 0, 100), 1'000);
  slow.set(1, 0);
  EXPECT_FALSE(slow.active());
}

TEST(SlowdownModel, paces_an_op_to_the_drawn_time_or_its_own_if_longer) {
  const SlowdownModel paced(1, 0, 1, 0, {{{1'000, 5'000}, {70}}});
  EXPECT_TRUE(paced.active());
  EXPECT_EQ(paced.target_ns(0, 1, 0, 300), 5'000);
  EXPECT_EQ(paced.lateness_ns(0, 1, 0, 300), 0);
  EXPECT_EQ(paced.target_ns(1, 0, 0, 300), 300);
  EXPECT_EQ(paced.lateness_ns(1, 0, 0, 300), 230);
}

TEST(SlowdownModel, multiplies_the_drawn_time_of_a_paced_straggler) {
  const SlowdownModel paced(1, 0, 4, 0, {{{1'000}}});
  EXPECT_EQ(paced.target_ns(0, 0, 0, 3'000), 4'000);
  EXPECT_EQ(paced.lateness_ns(0, 0, 0, 5'000), 1'000);
}

}  // namespace
}  // namespace trainyard::run
