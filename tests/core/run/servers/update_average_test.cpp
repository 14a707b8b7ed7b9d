// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/servers/update_average.h"

#include <gtest/gtest.h>

namespace trainyard::run {
namespace {

using Taken = std::vector<std::pair<int, std::int64_t>>;

using Samples = std::vector<std::pair<std::int64_t, std::int64_t>>;

constexpr plan::ArrivalRule kSoftsync{.workers = 2, .gradients_per_update = 2},
    kBackupWorker{.workers = 3, .gradients_per_update = 2, .answers_after_update = true};

// `train`, `tail`: samples of each worker in a step, and number by which gradients are divided; for
// steps 0 to 2, and for step 3, the last of the epoch.
UpdateAverage average_of(const plan::ArrivalRule& rule, const Samples& train, const Samples& tail,
                         int servers = 1) {
  std::vector<plan::RankPlan> ranks(train.size());
  for (std::size_t i = 0; i < train.size(); ++i) {
    ranks[i].rank = static_cast<std::int32_t>(i);
    ranks[i].programs = {{"train", train[i].first, train[i].second, 1, {}, {}},
                         {"tail", tail[i].first, tail[i].second, 1, {}, {}}};
  }
  plan::Schedule schedule;
  schedule.steps = 8;
  schedule.full_steps_per_epoch = 3;
  schedule.tails = {1};
  return {plan::from_ranks({}, schedule, ranks), rule, servers};
}

TEST(UpdateAverage, of_equal_batches_needs_no_factor) {
  const UpdateAverage average = average_of(kSoftsync, {{8, 16}, {8, 16}}, {{4, 16}, {4, 16}});
  EXPECT_EQ(average.factor(Taken{{0, 0}, {1, 1}}), 1);
  EXPECT_EQ(average.factor(Taken{{0, 2}, {0, 4}}), 1);
}

TEST(UpdateAverage, is_weighted_by_samples) {
  const UpdateAverage average = average_of(kSoftsync, {{8, 16}, {8, 16}}, {{4, 16}, {4, 16}});
  EXPECT_EQ(average.factor(Taken{{0, 2}, {1, 3}}), 16.0 / 12);
  EXPECT_EQ(average.factor(Taken{{0, 3}, {1, 7}}), 2);
}

TEST(UpdateAverage, of_several_servers_has_no_weights) {
  const UpdateAverage average = average_of(kSoftsync, {{8, 16}, {8, 16}}, {{4, 16}, {4, 16}}, 2);
  EXPECT_EQ(average.factor(Taken{{0, 2}, {1, 3}}), 1);
}

TEST(UpdateAverage, of_all_workers_in_one_step_has_no_factor) {
  const UpdateAverage average =
      average_of({.workers = 2, .gradients_per_update = 2, .answers_after_update = true},
                 {{8, 20}, {8, 20}}, {{4, 20}, {4, 20}});
  EXPECT_EQ(average.factor(Taken{{0, 0}, {1, 0}}), 1);
}

// 10 samples of 3 workers; an update takes the gradients of 2 workers
TEST(UpdateAverage, depends_on_the_workers_whose_gradients_are_applied) {
  const UpdateAverage average =
      average_of(kBackupWorker, {{4, 6}, {3, 6}, {3, 6}}, {{0, 1}, {1, 1}, {0, 1}});
  EXPECT_EQ(average.factor(Taken{{0, 0}, {1, 0}}), 6.0 / 7);
  EXPECT_EQ(average.factor(Taken{{1, 0}, {2, 0}}), 1);
}

TEST(UpdateAverage, of_gradients_without_samples_stays_zero) {
  const UpdateAverage average =
      average_of(kBackupWorker, {{4, 6}, {3, 6}, {3, 6}}, {{0, 1}, {1, 1}, {0, 1}});
  EXPECT_EQ(average.factor(Taken{{0, 3}, {2, 3}}), 1);
}

}  // namespace
}  // namespace trainyard::run
