// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/coordinator/liveness_monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/session/coordinator/second.h"
#include "tests/problem_matchers.h"

namespace trainyard::session {
namespace {

using base::IsProblem;
using base::Reports;
using testing::AllOf;
using testing::Not;
using testing::Optional;

constexpr std::int64_t kFar = 1000;  // a horizon that is never reached

// A watch over three ranks, looked at ten times a second as the coordinator does, so that it sees
// no gap of its own.
class LivenessMonitorTest : public testing::Test {
 protected:
  void SetUp() override { liveness_monitor_.start(0); }

  void beat(int rank, std::uint64_t ops_done, int waits_for = -1, std::int64_t step = 5) {
    liveness_monitor_.heard({rank, step, ops_done, "RED.b0.t1.c2<r1", waits_for}, now_);
  }

  // Lets `seconds` pass while `heartbeat` is called at every look; the problem, if one is found.
  std::optional<base::Problem> pass(double seconds, const std::function<void()>& heartbeat,
                                    std::int64_t horizon = kFar) {
    for (int i = 0; i < static_cast<int>(seconds * 10); ++i) {
      now_ += kSecond / 10;
      heartbeat();
      if (auto problem = liveness_monitor_.judge(horizon, now_)) return problem;
    }
    return std::nullopt;
  }

  LivenessMonitor liveness_monitor_{{"rank 0 (a)", "rank 1 (b)", "rank 2 (c)"}, {3, 20, 0.5}};
  std::int64_t now_ = 0;
};

TEST_F(LivenessMonitorTest, reports_nothing_while_ops_complete) {
  std::uint64_t ops = 0;
  EXPECT_FALSE(pass(60, [&] {
    ++ops;
    for (int r = 0; r < 3; ++r) beat(r, ops);
  }));
}

TEST_F(LivenessMonitorTest, reports_a_rank_without_heartbeats_and_its_op) {
  std::uint64_t ops = 0;
  beat(2, 1);
  const auto problem = pass(10, [&] {
    ++ops;
    beat(0, ops);
    beat(1, ops);
  });
  EXPECT_THAT(problem, Optional(AllOf(IsProblem("rank_unresponsive", "rank 2 (c)"),
                                      Reports("RED.b0.t1.c2<r1"))));
  EXPECT_LE(now_, 4 * kSecond);
}

TEST_F(LivenessMonitorTest, blames_the_end_of_the_chain_of_waiting_ranks_for_a_hang) {
  const auto problem = pass(30, [&] {
    beat(0, 7, 2);
    beat(1, 7);  // waits for no peer, and makes no progress
    beat(2, 7, 1);
  });
  EXPECT_THAT(problem, Optional(IsProblem("run_hung", "rank 1 (b)")));
}

TEST_F(LivenessMonitorTest, distinguishes_a_hang_before_the_first_op_from_waiting_for_samples) {
  const auto hung_at = [&](std::uint64_t ops_done, const char* op) {
    return pass(30, [&] {
      for (int r = 0; r < 3; ++r) liveness_monitor_.heard({r, 0, ops_done, op, -1}, now_);
    });
  };
  EXPECT_THAT(hung_at(0, ""), Optional(AllOf(IsProblem("run_hung"), Reports("step 0"),
                                             Reports("first op"), Not(Reports("samples")))));
  EXPECT_THAT(hung_at(1, "LOAD.m0"),
              Optional(AllOf(IsProblem("run_hung"), Reports("step 0"), Reports("LOAD.m0"),
                             Reports("samples"), Not(Reports("first op")))));
}

TEST_F(LivenessMonitorTest, allows_more_time_before_the_first_op) {
  LivenessLimits limits{3, 20};
  limits.begin_seconds = 50;
  const auto problem_after = [&](int seconds, std::uint64_t ops_done) {
    LivenessMonitor watch({"rank 0 (a)"}, limits);
    watch.start(0);
    for (now_ = 0; now_ < seconds * kSecond; now_ += kSecond / 10) {
      watch.heard({0, 0, ops_done, "", -1}, now_);
      if (auto problem = watch.judge(1'000, now_)) return problem;
    }
    return std::optional<base::Problem>();
  };
  EXPECT_EQ(problem_after(40, 0), std::nullopt);
  EXPECT_THAT(problem_after(60, 0),
              Optional(AllOf(IsProblem("run_hung", "rank 0 (a)"), Reports("50 s"))));
  EXPECT_THAT(problem_after(40, 1),
              Optional(AllOf(IsProblem("run_hung", "rank 0 (a)"), Reports("20 s"))));
}

TEST_F(LivenessMonitorTest, allows_more_time_while_one_rank_is_before_its_first_op) {
  LivenessLimits limits{3, 20};
  limits.begin_seconds = 50;
  LivenessMonitor watch({"rank 0 (a)", "rank 1 (b)"}, limits);
  watch.start(0);
  const auto problem_at = [&](int seconds) {
    for (; now_ < seconds * kSecond; now_ += kSecond / 10) {
      watch.heard({0, 0, 7, "", -1}, now_);
      watch.heard({1, 0, 0, "", -1}, now_);
      if (auto problem = watch.judge(1'000, now_)) return problem;
    }
    return std::optional<base::Problem>();
  };
  EXPECT_EQ(problem_at(40), std::nullopt);
  EXPECT_THAT(problem_at(60), Optional(AllOf(IsProblem("run_hung"), Reports("50 s"))));
}

TEST_F(LivenessMonitorTest, waiting_at_the_horizon_is_no_hang) {
  EXPECT_FALSE(pass(
      60,
      [&] {
        for (int r = 0; r < 3; ++r) beat(r, 7);
      },
      5));
}

TEST_F(LivenessMonitorTest, ignores_its_own_suspension) {
  for (int r = 0; r < 3; ++r) beat(r, 1);
  EXPECT_FALSE(liveness_monitor_.judge(kFar, kSecond / 10));
  EXPECT_FALSE(liveness_monitor_.judge(kFar, 100 * kSecond));  // the machine slept
}

// The coordinator asks for single ranks before it judges the run.
TEST_F(LivenessMonitorTest, ignores_its_own_suspension_for_single_ranks) {
  for (int r = 0; r < 3; ++r) beat(r, 1);
  EXPECT_FALSE(liveness_monitor_.judge(kFar, kSecond / 10));
  for (int r = 0; r < 3; ++r)
    EXPECT_FALSE(liveness_monitor_.is_unresponsive(r, 100 * kSecond)) << r;
  EXPECT_FALSE(liveness_monitor_.judge(kFar, 100 * kSecond));
}

TEST_F(LivenessMonitorTest, expects_no_heartbeats_of_a_finished_rank) {
  liveness_monitor_.done(2);
  std::uint64_t ops = 0;
  EXPECT_FALSE(pass(30, [&] {
    ++ops;
    beat(0, ops);
    beat(1, ops);
  }));
}

TEST_F(LivenessMonitorTest, watches_the_replacement_of_a_lost_rank) {
  std::uint64_t ops = 0;
  const auto others = [&] {
    beat(0, ++ops);
    beat(1, ++ops);
  };
  liveness_monitor_.done(2);
  EXPECT_FALSE(pass(10, others));
  liveness_monitor_.again(2, now_);
  EXPECT_FALSE(pass(2.8, others));
  const auto problem = pass(1, others);
  EXPECT_THAT(problem, Optional(IsProblem("rank_unresponsive", "rank 2 (c)")));
}

TEST_F(LivenessMonitorTest, reports_how_and_where_a_rank_died) {
  beat(1, 3, 0);
  EXPECT_THAT(liveness_monitor_.died(1, "signal 9 (Killed)"),
              AllOf(IsProblem("rank_died", "rank 1 (b)"), Reports("signal 9 (Killed)"),
                    Reports("step 5"), Reports("RED.b0.t1.c2<r1"), Reports("rank 0")));
}

// Packets of a network that loses some arrive late.
TEST_F(LivenessMonitorTest, suspects_ranks_of_a_silent_machine_before_they_are_lost) {
  std::uint64_t ops = 0;
  double silent = 0;
  beat(2, 1);
  const auto others = [&] {
    ++ops;
    beat(0, ops);
    beat(1, ops);
    silent += 0.1;
    liveness_monitor_.set_host_silence(2, silent, now_);
  };
  EXPECT_FALSE(pass(2.9, others));
  EXPECT_FALSE(liveness_monitor_.is_suspected(2, now_));
  EXPECT_FALSE(pass(6.9, others));
  EXPECT_TRUE(liveness_monitor_.is_suspected(2, now_));
  EXPECT_FALSE(liveness_monitor_.is_suspected(1, now_));
  silent = 0;  // the machine is heard, and a heartbeat follows two seconds later
  EXPECT_FALSE(pass(1.4, others));
  EXPECT_FALSE(liveness_monitor_.is_suspected(2, now_)) << "its machine was heard again";
  silent = 0;
  EXPECT_FALSE(pass(0.6, others));
  beat(2, 2);
  EXPECT_THAT(pass(11, others), Optional(IsProblem("rank_unresponsive", "rank 2 (c)")));
}

TEST_F(LivenessMonitorTest, rank_of_a_machine_that_is_heard_is_lost_as_soon_as_any_other) {
  std::uint64_t ops = 0;
  beat(2, 1);
  liveness_monitor_.set_host_silence(2, 1, now_);
  EXPECT_TRUE(pass(3.5, [&] {
    ++ops;
    beat(0, ops);
    beat(1, ops);
  }));
}

}  // namespace
}  // namespace trainyard::session
