// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

namespace trainyard::base {
namespace {

using ::testing::ElementsAre;

// Known answers of philox4x32-10, from kat_vectors of the Random123 distribution. The counter is
// {element low, element high, item, purpose}, the key {seed low, seed high}.
TEST(Random, gives_the_known_answers_of_philox4x32_10) {
  EXPECT_THAT(Random(0, Purpose{0}, 0).block(0),
              ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  EXPECT_THAT(Random(~0ull, Purpose{~0u}, ~0u).block(~0ull),
              ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(Random(0x299f31d0a4093822, Purpose{0x03707344}, 0x13198a2e).block(0x85a308d3243f6a88),
              ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

TEST(Random, values_depend_on_the_element_and_not_on_the_order_of_calls) {
  const Random random(7, Purpose::initialize, 3);
  std::vector<double> forward, backward;
  for (std::uint64_t i = 0; i < 100; ++i) forward.push_back(random.normal(i));
  for (std::uint64_t i = 100; i-- > 0;)
    backward.push_back(Random(7, Purpose::initialize, 3).normal(i));
  std::reverse(backward.begin(), backward.end());
  EXPECT_EQ(forward, backward);
}

TEST(Random, seed_purpose_item_and_element_each_select_another_stream) {
  const std::set<std::uint64_t> values{
      Random(1, Purpose::initialize, 0).bits(0),
      Random(2, Purpose::initialize, 0).bits(0),
      Random(1, Purpose::permute, 0).bits(0),
      Random(1, Purpose::initialize, 1).bits(0),
      Random(1, Purpose::initialize, 0).bits(1),
      Random(1, Purpose::initialize, 0).bits(std::uint64_t{1} << 32),
      Random(std::uint64_t{1} << 32, Purpose::initialize, 0).bits(0)};
  EXPECT_EQ(values.size(), 7u);
}

// The mean and variance of 100,000 draws; the seed is fixed, so a bound of five standard errors is
// met once and for all.
struct Moments {
  double mean = 0, variance = 0;
};
template <class Draw>
Moments moments(Draw draw) {
  constexpr int kDraws = 100'000;
  Moments m;
  for (int i = 0; i < kDraws; ++i) m.mean += draw(static_cast<std::uint64_t>(i)) / kDraws;
  for (int i = 0; i < kDraws; ++i)
    m.variance += std::pow(draw(static_cast<std::uint64_t>(i)) - m.mean, 2) / kDraws;
  return m;
}

TEST(Random, uniform_numbers_have_their_mean_and_variance) {
  const Random random(11, Purpose::noise, 0);
  const Moments m = moments([&](std::uint64_t i) { return random.uniform(i); });
  EXPECT_NEAR(m.mean, 0.5, 5 * std::sqrt(1.0 / 12 / 1e5));
  EXPECT_NEAR(m.variance, 1.0 / 12, 5 * std::sqrt(1.0 / 180 / 1e5));
}

TEST(Random, normal_numbers_have_mean_zero_and_variance_one) {
  const Random random(12, Purpose::initialize, 0);
  const Moments m = moments([&](std::uint64_t i) { return random.normal(i); });
  EXPECT_NEAR(m.mean, 0, 5 * std::sqrt(1 / 1e5));
  EXPECT_NEAR(m.variance, 1, 5 * std::sqrt(2 / 1e5));
}

TEST(Random, uniform_numbers_stay_in_their_half_open_range) {
  const Random random(13, Purpose::noise, 0);
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    EXPECT_GE(random.uniform(i), 0.0);
    EXPECT_LT(random.uniform(i), 1.0);
    EXPECT_GE(random.uniform(i, -2, 3), -2.0);
    EXPECT_LT(random.uniform(i, -2, 3), 3.0);
  }
}

TEST(Random, integers_below_a_bound_are_uniform) {
  const Random random(14, Purpose::permute, 0);
  std::vector<int> counts(7);
  for (std::uint64_t i = 0; i < 70'000; ++i) ++counts.at(random.below(i, 7));
  for (const int count : counts)
    EXPECT_NEAR(count, 10'000, 5 * std::sqrt(70'000 * (1.0 / 7) * (6.0 / 7)));
  EXPECT_EQ(random.below(5, 1), 0u);
  EXPECT_LT(random.below(5, ~0ull), ~0ull);
}

}  // namespace
}  // namespace trainyard::base
