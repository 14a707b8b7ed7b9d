// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/sampler.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/core/data/sampled.h"

namespace trainyard::data {
namespace {

SampleIndices of_all_ranks(Sampler& sampler, std::int64_t step, std::int64_t ranks) {
  SampleIndices all;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    const auto part = of_rank(sampler, step, rank);
    RC_ASSERT(std::ssize(part) == sampler.shares().samples(step, rank));
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

RC_GTEST_PROP(Sampler, uses_every_index_exactly_once_per_epoch, ()) {
  const auto samples = *rc::gen::inRange<std::int64_t>(1, 400),
             batch = *rc::gen::inRange<std::int64_t>(1, 40),
             ranks = *rc::gen::inRange<std::int64_t>(1, 9);
  const auto epoch = *rc::gen::inRange<std::int64_t>(0, 4);
  Sampler sampler(5, samples, batch, ranks);
  SampleIndices used, expected(static_cast<std::size_t>(samples));
  for (std::int64_t step = 0; step < sampler.shares().steps_per_epoch(); ++step) {
    const auto part =
        of_all_ranks(sampler, epoch * sampler.shares().steps_per_epoch() + step, ranks);
    RC_ASSERT(std::ssize(part) == sampler.shares().global_samples(step));
    RC_ASSERT((std::ssize(part) == batch * ranks) == (step < samples / (batch * ranks)));
    used.insert(used.end(), part.begin(), part.end());
  }
  std::sort(used.begin(), used.end());
  std::iota(expected.begin(), expected.end(), std::int64_t{0});
  RC_ASSERT(used == expected);
}

RC_GTEST_PROP(Sampler, gives_all_ranks_together_the_samples_of_one_device, ()) {
  const auto samples = *rc::gen::inRange<std::int64_t>(1, 400),
             batch = *rc::gen::inRange<std::int64_t>(1, 20),
             ranks = *rc::gen::inRange<std::int64_t>(1, 9);
  Sampler together(7, samples, batch, ranks), alone(7, samples, batch * ranks, 1);
  RC_ASSERT(together.shares().steps_per_epoch() == alone.shares().steps_per_epoch());
  for (std::int64_t step = 0; step < 2 * alone.shares().steps_per_epoch() + 1; ++step)
    RC_ASSERT(of_all_ranks(together, step, ranks) == of_rank(alone, step, 0));
}

TEST(Sampler, leaves_some_ranks_empty_if_the_tail_is_smaller_than_the_ranks) {
  Sampler sampler(1, 34, 8, 4);
  EXPECT_EQ(sampler.shares().steps_per_epoch(), 2);
  EXPECT_EQ(sampler.shares().global_samples(1), 2);
  for (std::int64_t rank = 0; rank < 4; ++rank)
    EXPECT_EQ(sampler.shares().samples(1, rank), rank < 2 ? 1 : 0);
}

TEST(Sampler, has_another_order_for_each_epoch_and_seed) {
  Sampler sampler(1, 100, 100, 1), other(2, 100, 100, 1);
  const auto first = of_rank(sampler, 0, 0);
  EXPECT_FALSE(std::is_sorted(first.begin(), first.end()));
  EXPECT_NE(of_rank(sampler, 1, 0), first);
  EXPECT_NE(of_rank(other, 0, 0), first);
  EXPECT_EQ(of_rank(sampler, 0, 0), first) << "going back gives the same order";
}

// Each index should come first equally often: chi-squared of 10 cells, 9 degrees of freedom, p =
// 0.001 at 27.9.
TEST(Sampler, draws_uniform_orders) {
  Sampler sampler(3, 10, 10, 1);
  std::vector<double> times(10);
  constexpr int kEpochs = 5000;
  for (std::int64_t epoch = 0; epoch < kEpochs; ++epoch)
    ++times[static_cast<std::size_t>(of_rank(sampler, epoch, 0)[0])];
  double chi_squared = 0;
  for (const double count : times)
    chi_squared += (count - kEpochs / 10.0) * (count - kEpochs / 10.0) / (kEpochs / 10.0);
  EXPECT_LT(chi_squared, 27.9);
}

}  // namespace
}  // namespace trainyard::data
