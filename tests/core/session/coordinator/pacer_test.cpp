// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/coordinator/pacer.h"

#include <gtest/gtest.h>

#include "tests/core/session/coordinator/second.h"

namespace trainyard::session {
namespace {

TEST(Pacer, grants_two_steps_before_the_step_time_is_known) {
  Pacer pacer(100, 0);
  const auto grant = pacer.grant(0);
  ASSERT_TRUE(grant);
  EXPECT_EQ(grant->step, 2);
  EXPECT_FALSE(grant->last);
  EXPECT_FALSE(pacer.grant(1));  // nothing new to say
}

TEST(Pacer, grants_a_quarter_second_ahead_of_the_slowest) {
  Pacer pacer(100'000, 0);
  pacer.grant(0);
  pacer.step_took(0.001);
  pacer.at_step(10);
  EXPECT_EQ(pacer.grant(0)->step, 10 + 250);
}

TEST(Pacer, grants_at_most_two_evaluations_however_short_the_steps_are) {
  Pacer pacer(100'000, 0, 20);
  pacer.step_took(0.001);
  for (const auto& [slowest, granted] :
       {std::pair<std::int64_t, std::int64_t>{0, 40}, {19, 40}, {20, 60}, {59, 80}}) {
    pacer.at_step(slowest);
    static_cast<void>(pacer.grant(0));
    EXPECT_EQ(pacer.horizon(), granted) << slowest;
  }
}

TEST(Pacer, grants_steps_from_the_resumed_checkpoint) {
  Pacer paced(5'000, 1);
  paced.begin_at(2'400);
  EXPECT_EQ(paced.grant(0)->step, 2'401);
  Pacer stepped(5'000, 0);
  stepped.begin_at(2'400);
  stepped.single_step();
  EXPECT_EQ(stepped.grant(0)->step, 2'401);
}

// Otherwise some ranks that could make a step would wait for a grant.
TEST(Pacer, grants_steps_of_a_round_together) {
  Pacer pacer(100'000, 0, 20, 64);
  EXPECT_EQ(pacer.grant(0)->step, 128);
  pacer.step_took(1);
  pacer.at_step(100);
  EXPECT_EQ(pacer.grant(0)->step, 100 + 128) << "more than an evaluation's";
  Pacer quick(1'000'000, 0, 0, 4);
  quick.step_took(0.001);
  EXPECT_EQ(quick.grant(0)->step, 4 * 250);
}

TEST(Pacer, allows_asynchronous_ranks_to_differ_by_the_time_of_a_pause) {
  Pacer pacer(1'000'000, 0, 0, 1, 4);
  pacer.step_took(0.001, 0);
  EXPECT_EQ(pacer.grant(0)->step, 250) << "the straggler is not known yet";
  pacer.step_took(0.01, 1);
  pacer.step_took(0.001, 0);
  pacer.at_step(10);
  EXPECT_EQ(pacer.grant(0)->step, 10 + 400) << "four seconds of the slowest";
}

TEST(Pacer, marks_the_last_step) {
  Pacer pacer(2, 0);
  EXPECT_TRUE(pacer.grant(0)->last);
}

TEST(Pacer, pause_withholds_grants_and_single_steps_grant_one_each) {
  Pacer pacer(1000, 0);
  pacer.grant(0);
  pacer.pause();
  EXPECT_FALSE(pacer.grant(kSecond));
  EXPECT_FALSE(pacer.at_horizon());
  pacer.at_step(2);
  EXPECT_TRUE(pacer.at_horizon());
  pacer.single_step();
  const auto single = pacer.grant(kSecond);
  ASSERT_TRUE(single);
  EXPECT_EQ(single->step, 3);
  EXPECT_TRUE(single->single);
  EXPECT_FALSE(pacer.grant(2 * kSecond));
  pacer.single_step();
  EXPECT_FALSE(pacer.grant(2 * kSecond));  // the step before is still under way
  pacer.at_step(3);
  EXPECT_EQ(pacer.grant(2 * kSecond)->step, 4);
  pacer.resume();
  pacer.at_step(4);
  const auto resumed = pacer.grant(3 * kSecond);
  ASSERT_TRUE(resumed);
  EXPECT_GT(resumed->step, 5);
  EXPECT_FALSE(resumed->single);
}

TEST(Pacer, single_step_while_training_is_the_one_after_the_granted_steps) {
  Pacer pacer(1000, 0);
  pacer.grant(0);
  pacer.single_step();
  EXPECT_TRUE(pacer.pausing());
  EXPECT_FALSE(pacer.grant(kSecond)) << "it is still in transit";
  pacer.at_step(2);
  EXPECT_EQ(pacer.grant(kSecond).value_or(Horizon{}).step, 3);
  pacer.at_step(3);
  EXPECT_FALSE(pacer.grant(2 * kSecond));
}

TEST(Pacer, single_step_is_in_progress_from_its_grant_to_its_end) {
  Pacer pacer(1000, 0);
  pacer.grant(0);
  pacer.single_step();
  EXPECT_FALSE(pacer.grant(kSecond));
  EXPECT_FALSE(pacer.stepping()) << "it is still in transit";
  pacer.at_step(2);
  ASSERT_TRUE(pacer.grant(kSecond));
  EXPECT_TRUE(pacer.stepping());
  pacer.at_step(3);
  EXPECT_FALSE(pacer.stepping());
}

TEST(Pacer, pace_setting_grants_one_step_per_period) {
  Pacer pacer(1000, 0.5);
  EXPECT_EQ(pacer.grant(0)->step, 1);
  pacer.at_step(1);
  EXPECT_FALSE(pacer.grant(kSecond / 4));
  EXPECT_EQ(pacer.grant(kSecond / 2)->step, 2);
  pacer.set_pace(0);
  pacer.step_took(0.01);
  pacer.at_step(2);
  EXPECT_EQ(pacer.grant(kSecond)->step, 2 + 25);
}

TEST(Pacer, stop_makes_the_granted_step_the_last_of_all_ranks) {
  Pacer pacer(1000, 0);
  pacer.grant(0);
  pacer.stop();
  const auto grant = pacer.grant(1);
  ASSERT_TRUE(grant);
  EXPECT_EQ(grant->step, 2);
  EXPECT_TRUE(grant->last);
  EXPECT_FALSE(pacer.grant(2));
}

}  // namespace
}  // namespace trainyard::session
