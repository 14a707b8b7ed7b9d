// SPDX-License-Identifier: GPL-3.0-or-later
// Staleness as the literature says it, on a clock where a worker's round takes as long as its speed
// says and all else takes nothing.
#include "core/plan/arrivals.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <queue>
#include <random>

namespace trainyard::plan {
namespace {

ArrivalRule asynchronous(int workers) { return {.workers = workers}; }
ArrivalRule softsync(int workers, int n) {
  return {.workers = workers, .gradients_per_update = workers / n};
}
ArrivalRule stale_synchronous(int workers, std::int64_t bound) {
  return {.workers = workers, .clock_bound = bound};
}
ArrivalRule synchronous(int workers, int backups = 0) {
  return {
      .workers = workers, .gradients_per_update = workers - backups, .answers_after_update = true};
}

struct Observed {
  std::vector<ArrivalQueue::Push> pushes;
  std::vector<int> by;  // the worker of each push
  std::int64_t most_ahead = 0;
  double seconds = 0;

  double mean_staleness(int of = -1) const {
    double sum = 0, count = 0;
    for (std::size_t i = 0; i < pushes.size(); ++i)
      if (!pushes[i].dropped && (of < 0 || by[i] == of))
        sum += static_cast<double>(pushes[i].staleness), ++count;
    return sum / count;
  }
  std::int64_t most_stale() const {
    std::int64_t most = 0;
    for (const ArrivalQueue::Push& push : pushes)
      if (!push.dropped) most = std::max(most, push.staleness);
    return most;
  }
  std::int64_t dropped() const {
    return std::count_if(pushes.begin(), pushes.end(),
                         [](const ArrivalQueue::Push& push) { return push.dropped; });
  }
};

// Workers with a time for each round, drawn around `seconds`, until `updates` are made.
Observed observe(const ArrivalRule& rule, std::vector<double> seconds, std::int64_t updates,
                 double jitter = 0) {
  ArrivalQueue arrivals(rule);
  arrivals.allow(rule.answers_after_update ? updates : updates * rule.gradients_per_update);
  Observed observed;
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> late(0, 1);
  using Done = std::pair<double, int>;
  std::priority_queue<Done, std::vector<Done>, std::greater<>> busy;
  const auto answer = [&] {
    while (const auto given = arrivals.answer()) {
      const std::size_t worker = static_cast<std::size_t>(given->worker);
      busy.emplace(observed.seconds + seconds[worker] * (1 + jitter * late(random)), given->worker);
    }
  };
  for (int worker = 0; worker < rule.workers; ++worker) arrivals.join(worker);
  answer();
  while (!busy.empty()) {
    const auto [now, worker] = busy.top();
    busy.pop();
    observed.seconds = now;
    observed.pushes.push_back(arrivals.push(worker));
    observed.by.push_back(worker);
    std::int64_t least = arrivals.clock(0), most = least;
    for (int other = 1; other < rule.workers; ++other)
      least = std::min(least, arrivals.clock(other)), most = std::max(most, arrivals.clock(other));
    observed.most_ahead = std::max(observed.most_ahead, most - least);
    answer();
  }
  EXPECT_EQ(arrivals.version(), updates);
  EXPECT_TRUE(arrivals.is_exhausted());
  return observed;
}

std::vector<double> equal(int workers) {
  return std::vector<double>(static_cast<std::size_t>(workers), 1.0);
}

std::vector<double> with_straggler(int workers, double factor) {
  std::vector<double> seconds = equal(workers);
  seconds.back() = factor;
  return seconds;
}

class Asynchronous : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(workers, Asynchronous, testing::Values(2, 4, 8));

TEST_P(Asynchronous, mean_staleness_is_the_workers_minus_one) {
  const int workers = GetParam();
  EXPECT_NEAR(observe(asynchronous(workers), equal(workers), 2000, 0.5).mean_staleness(),
              workers - 1, 0.02 * (workers - 1));
}

TEST_P(Asynchronous, straggler_does_not_change_the_mean_staleness) {
  const int workers = GetParam();
  EXPECT_NEAR(
      observe(asynchronous(workers), with_straggler(workers, 5), 2000, 0.2).mean_staleness(),
      workers - 1, 0.02 * (workers - 1));
}

// While it computes once, each of the others pushes five times: its own are 5 (λ - 1) updates late,
// of eight workers 35. One in 5 rounds of another has its update in it, so theirs are λ - 2 + 1/5
// late; and all together λ - 1.
TEST_P(Asynchronous, straggler_is_as_stale_as_the_others_are_fast) {
  const int workers = GetParam();
  const Observed observed = observe(asynchronous(workers), with_straggler(workers, 5), 4000, 0.1);
  EXPECT_NEAR(observed.mean_staleness(workers - 1), 5 * (workers - 1), 0.02 * 5 * (workers - 1));
  for (int other = 0; other + 1 < workers; ++other)
    EXPECT_NEAR(observed.mean_staleness(other), workers - 2 + 0.2, 0.02 * (workers - 1)) << other;
  EXPECT_NEAR(observed.mean_staleness(), workers - 1, 0.02 * (workers - 1));
}

TEST_P(Asynchronous, strict_turns_give_equal_staleness) {
  const int workers = GetParam();
  const Observed observed = observe(asynchronous(workers), equal(workers), 500);
  for (std::size_t i = static_cast<std::size_t>(workers); i < observed.pushes.size(); ++i)
    EXPECT_EQ(observed.pushes[i].staleness, workers - 1) << i;
}

TEST(ArrivalQueue, softsync_staleness_is_n_times_the_workers_minus_one) {
  for (const int n : {1, 2, 4, 8}) {
    const double expected = n * (1 - 1.0 / 8);
    EXPECT_NEAR(observe(softsync(8, n), equal(8), 2000, 0.5).mean_staleness(), expected,
                0.02 * expected)
        << n;
    EXPECT_NEAR(observe(softsync(8, n), with_straggler(8, 5), 2000, 0.3).mean_staleness(), expected,
                0.03 * expected)
        << n;
  }
}

TEST(ArrivalQueue, softsync_staleness_rarely_exceeds_twice_n) {
  const Observed observed = observe(softsync(30, 15), equal(30), 20000, 0.5);
  const auto late =
      std::count_if(observed.pushes.begin(), observed.pushes.end(),
                    [](const ArrivalQueue::Push& push) { return push.staleness > 30; });
  EXPECT_LT(static_cast<double>(late), 1e-4 * static_cast<double>(observed.pushes.size()));
}

TEST(ArrivalQueue, keeps_workers_within_the_staleness_bound) {
  for (const std::int64_t bound : {0, 1, 3, 10}) {
    const Observed observed = observe(stale_synchronous(6, bound), with_straggler(6, 7), 1200, 1);
    EXPECT_EQ(observed.most_ahead, bound + 1) << "which pushed and waits before it continues";
    EXPECT_LE(observed.most_stale(), (2 * bound + 1) * 5);
  }
}

TEST(ArrivalQueue, assigns_work_only_within_the_bound_of_the_slowest) {
  ArrivalQueue arrivals(stale_synchronous(2, 2));
  arrivals.allow(100);
  arrivals.join(0), arrivals.join(1);
  ASSERT_TRUE(arrivals.answer() && arrivals.answer());
  for (int round = 0; round < 2; ++round) {
    arrivals.push(0);
    ASSERT_TRUE(arrivals.answer()) << round;
  }
  arrivals.push(0);
  EXPECT_FALSE(arrivals.answer()) << "three ahead of worker 1";
  arrivals.push(1);
  EXPECT_EQ(arrivals.answer()->worker, 0) << "it asked first";
  EXPECT_EQ(arrivals.answer()->worker, 1);
}

TEST(ArrivalQueue, waits_for_a_worker_that_has_not_joined) {
  ArrivalQueue arrivals(stale_synchronous(3, 1));
  arrivals.allow(100);
  arrivals.join(0);
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(arrivals.answer()) << round;
    arrivals.push(0);
  }
  EXPECT_FALSE(arrivals.answer()) << "two steps ahead of workers that start later";
  arrivals.join(1);
  EXPECT_EQ(arrivals.answer()->worker, 1);
  arrivals.push(1);
  EXPECT_EQ(arrivals.answer()->worker, 1) << "worker 2 has not joined";
  arrivals.leave(2);
  EXPECT_EQ(arrivals.answer()->worker, 0) << "nor will it";
}

TEST(ArrivalQueue, bound_of_zero_runs_in_rounds) {
  const Observed observed = observe(stale_synchronous(4, 0), with_straggler(4, 3), 400, 0.3);
  EXPECT_NEAR(observed.seconds, 100 * 3 * 1.15, 15) << "as slow as the slowest";
}

TEST(ArrivalQueue, lockstep_has_no_staleness_and_no_drops) {
  const Observed observed = observe(synchronous(4), with_straggler(4, 5), 100, 0.5);
  EXPECT_EQ(observed.most_stale(), 0);
  EXPECT_EQ(observed.dropped(), 0);
  EXPECT_EQ(observed.pushes.size(), 400u);
}

TEST(ArrivalQueue, lockstep_rounds_equal_those_of_all_reduce) {
  const Observed observed = observe(synchronous(3), equal(3), 10, 0.5);
  for (std::size_t i = 0; i < observed.pushes.size(); ++i)
    EXPECT_EQ(observed.pushes[i].round, observed.pushes[i].pulled * 3 + observed.by[i]);
}

TEST(ArrivalQueue, one_backup_worker_compensates_one_straggler) {
  const double undisturbed = observe(synchronous(4), equal(4), 200).seconds;
  EXPECT_NEAR(observe(synchronous(4), with_straggler(4, 5), 200).seconds, 5 * undisturbed, 1e-6);
  const Observed backed = observe(synchronous(4, 1), with_straggler(4, 5), 200);
  EXPECT_NEAR(backed.seconds, undisturbed, 6) << "except for the straggler's last round";
  EXPECT_EQ(backed.most_stale(), 0) << "of what is used";
  EXPECT_EQ(backed.dropped(), static_cast<std::int64_t>(backed.pushes.size()) - 600);
}

TEST(ArrivalQueue, asynchronous_workers_keep_their_speed) {
  const double seconds = observe(asynchronous(4), with_straggler(4, 5), 3200).seconds;
  EXPECT_NEAR(3200 / seconds, 3 + 0.2, 0.05);
}

TEST(ArrivalQueue, assigns_no_more_work_than_the_updates_need) {
  ArrivalQueue arrivals(softsync(4, 2));
  arrivals.allow(2);
  for (int worker = 0; worker < 4; ++worker) arrivals.join(worker);
  EXPECT_EQ(arrivals.answer()->round, 0);
  EXPECT_EQ(arrivals.answer()->round, 1);
  EXPECT_FALSE(arrivals.answer());
  arrivals.push(0);
  EXPECT_FALSE(arrivals.is_exhausted());
  EXPECT_TRUE(arrivals.push(1).completes);
  EXPECT_TRUE(arrivals.is_exhausted());
  EXPECT_FALSE(arrivals.answer());
  arrivals.allow(3);
  EXPECT_EQ(arrivals.answer()->worker, 2) << "it has waited longest";
}

TEST(ArrivalQueue, reassigns_the_round_of_a_lost_worker) {
  ArrivalQueue arrivals(asynchronous(3));
  arrivals.allow(4);
  for (int worker = 0; worker < 3; ++worker) arrivals.join(worker);
  for (int worker = 0; worker < 3; ++worker) ASSERT_EQ(arrivals.answer()->round, worker);
  arrivals.leave(1);
  arrivals.push(0);
  EXPECT_EQ(arrivals.answer()->round, 1);
  arrivals.push(2);
  EXPECT_EQ(arrivals.answer()->round, 3);
  arrivals.push(0), arrivals.push(2);
  EXPECT_TRUE(arrivals.is_exhausted());
}

TEST(ArrivalQueue, does_not_wait_for_a_lost_worker_or_a_rejoined_one) {
  ArrivalQueue arrivals(stale_synchronous(2, 0));
  arrivals.allow(100);
  arrivals.join(0), arrivals.join(1);
  ASSERT_TRUE(arrivals.answer() && arrivals.answer());
  arrivals.push(0);
  EXPECT_FALSE(arrivals.answer());
  arrivals.leave(1);
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(arrivals.answer()->worker, 0);
    arrivals.push(0);
  }
  arrivals.join(1);
  EXPECT_EQ(arrivals.answer()->worker, 0);
  EXPECT_EQ(arrivals.answer()->worker, 1);
}

TEST(ArrivalQueue, continues_counting_after_resume) {
  for (const bool is_lockstep : {false, true}) {
    ArrivalQueue arrivals({.workers = 2,
                           .gradients_per_update = is_lockstep ? 2 : 1,
                           .answers_after_update = is_lockstep});
    arrivals.resume_from(10, 10);
    arrivals.allow(12);
    EXPECT_EQ(arrivals.steps(), 10);
    for (const int worker : {0, 1}) {
      arrivals.join(worker);
      const auto answer = arrivals.answer();
      ASSERT_TRUE(answer);
      EXPECT_EQ(answer->version, 10);
      EXPECT_EQ(answer->round, is_lockstep ? 20 + worker : 10 + worker)
          << "the samples that come next";
    }
    EXPECT_EQ(arrivals.push(0).pulled, 10);
    arrivals.push(1);
    EXPECT_EQ(arrivals.version(), is_lockstep ? 11 : 12);
  }
}

RC_GTEST_PROP(ArrivalQueue, pushes_every_round_once_at_any_speed, ()) {
  const int workers = *rc::gen::inRange(1, 9);
  ArrivalRule rule{.workers = workers, .gradients_per_update = *rc::gen::inRange(1, workers + 1)};
  if (*rc::gen::arbitrary<bool>()) rule.clock_bound = *rc::gen::inRange(0, 4);
  const auto seconds = *rc::gen::container<std::vector<double>>(
      static_cast<std::size_t>(workers),
      rc::gen::map(rc::gen::inRange(1, 50), [](int n) { return n / 10.0; }));
  const Observed observed = observe(rule, seconds, 60);
  std::vector<std::int64_t> rounds;
  for (const ArrivalQueue::Push& push : observed.pushes) rounds.push_back(push.round);
  std::sort(rounds.begin(), rounds.end());
  std::vector<std::int64_t> expected(static_cast<std::size_t>(60 * rule.gradients_per_update));
  std::iota(expected.begin(), expected.end(), 0);
  RC_ASSERT(rounds == expected);
  if (rule.clock_bound >= 0) RC_ASSERT(observed.most_ahead <= rule.clock_bound + 1);
}

}  // namespace
}  // namespace trainyard::plan
