// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

namespace trainyard::data {
namespace {

using ::testing::ElementsAre;

std::vector<std::int64_t> of_ranks(const Shares& shares, std::int64_t step) {
  std::vector<std::int64_t> samples;
  for (std::int64_t rank = 0; rank < shares.ranks(); ++rank)
    samples.push_back(shares.samples(step, rank));
  return samples;
}

Shares any_shares() {
  const auto batch = *rc::gen::inRange<std::int64_t>(1, 20),
             ranks = *rc::gen::inRange<std::int64_t>(1, 10);
  if (*rc::gen::arbitrary<bool>())
    return Shares::even(*rc::gen::inRange<std::int64_t>(1, 400), batch, ranks);
  return Shares::owned(*rc::gen::container<std::vector<std::int64_t>>(
                           static_cast<std::size_t>(ranks), rc::gen::inRange<std::int64_t>(1, 100)),
                       batch);
}

RC_GTEST_PROP(Slice, parts_differ_by_at_most_one_and_cover_all, ()) {
  const auto samples = *rc::gen::inRange<std::int64_t>(0, 200),
             ranks = *rc::gen::inRange<std::int64_t>(1, 20);
  std::int64_t next = 0;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    const auto [first, count] = slice(samples, ranks, rank);
    RC_ASSERT(first == next);
    RC_ASSERT(count == samples / ranks || count == samples / ranks + 1);
    next += count;
  }
  RC_ASSERT(next == samples);
}

RC_GTEST_PROP(Shares, of_other_ranks_do_not_depend_on_an_excluded_rank, ()) {
  const auto samples = *rc::gen::inRange<std::int64_t>(1, 400),
             batch = *rc::gen::inRange<std::int64_t>(1, 20),
             ranks = *rc::gen::inRange<std::int64_t>(2, 10);
  const auto without = *rc::gen::inRange<std::int64_t>(0, ranks);
  const Shares with_it = Shares::even(samples, batch, ranks, without),
               others = Shares::even(samples, batch, ranks - 1);
  RC_ASSERT(with_it.stretches() == others.stretches());
  for (std::int64_t step = 0; step < 2 * others.steps_per_epoch(); ++step) {
    RC_ASSERT(with_it.global_samples(step) == others.global_samples(step));
    RC_ASSERT(with_it.samples(step, without) == 0);
    for (std::int64_t rank = 0, other = 0; rank < ranks; ++rank) {
      if (rank == without) continue;
      RC_ASSERT(with_it.samples(step, rank) == others.samples(step, other));
      RC_ASSERT(with_it.first(step, rank) == others.first(step, other++));
    }
  }
}

RC_GTEST_PROP(Shares, take_every_sample_once_per_epoch, ()) {
  const Shares shares = any_shares();
  std::int64_t all = 0;
  for (std::int64_t step = 0; step < shares.steps_per_epoch(); ++step) {
    const auto samples = of_ranks(shares, step);
    RC_ASSERT(shares.global_samples(step) ==
              std::accumulate(samples.begin(), samples.end(), std::int64_t{0}));
    RC_ASSERT(shares.global_samples(step) > 0);
    RC_ASSERT(shares.global_samples(step) <= shares.global_samples(0));
    all += shares.global_samples(step);
    RC_ASSERT(of_ranks(shares, step + 3 * shares.steps_per_epoch()) == samples);
  }
  RC_ASSERT(all == shares.epoch_samples());
}

RC_GTEST_PROP(Shares, segments_are_the_longest_runs_of_equal_steps, ()) {
  const Shares shares = any_shares();
  const auto stretches = shares.stretches();
  std::int64_t next = 0;
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    RC_ASSERT(stretches[i].first_step == next);
    for (std::int64_t step = 0; step < stretches[i].steps; ++step)
      RC_ASSERT(of_ranks(shares, next + step) == of_ranks(shares, next));
    next += stretches[i].steps;
    if (i + 1 < stretches.size()) RC_ASSERT(of_ranks(shares, next) != of_ranks(shares, next - 1));
  }
  RC_ASSERT(next == shares.steps_per_epoch());
}

TEST(Shares, of_smaller_ranks_are_exhausted_first) {
  const Shares shares = Shares::owned({20, 9, 4}, 8);
  EXPECT_EQ(shares.steps_per_epoch(), 3);
  EXPECT_THAT(of_ranks(shares, 0), ElementsAre(8, 8, 4));
  EXPECT_THAT(of_ranks(shares, 1), ElementsAre(8, 1, 0));
  EXPECT_THAT(of_ranks(shares, 2), ElementsAre(4, 0, 0));
  EXPECT_THAT(shares.stretches(), ElementsAre(StepRange{0, 1}, StepRange{1, 1}, StepRange{2, 1}));
}

TEST(Shares, of_equal_size_end_with_one_short_step) {
  EXPECT_THAT(Shares::even(250, 8, 3).stretches(), ElementsAre(StepRange{0, 10}, StepRange{10, 1}));
  EXPECT_THAT(Shares::even(240, 8, 3).stretches(), ElementsAre(StepRange{0, 10}));
}

TEST(Shares, of_equal_size_end_together) {
  EXPECT_THAT(Shares::owned({16, 16, 16}, 8).stretches(), ElementsAre(StepRange{0, 2}));
  EXPECT_THAT(Shares::owned({19, 19}, 8).stretches(),
              ElementsAre(StepRange{0, 2}, StepRange{2, 1}));
}

}  // namespace
}  // namespace trainyard::data
