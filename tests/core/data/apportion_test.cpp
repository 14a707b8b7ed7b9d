// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/apportion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace trainyard::data {
namespace {

using ::testing::ElementsAre;

base::Random random_of(std::uint32_t item) { return {7, base::Purpose::shard, item}; }

RC_GTEST_PROP(Apportion, parts_add_up_and_are_within_one_of_the_exact_value, ()) {
  const auto total = *rc::gen::inRange<std::int64_t>(0, 100'000'000);
  const auto weights = *rc::gen::nonEmpty(rc::gen::container<std::vector<double>>(
      rc::gen::map(rc::gen::inRange(1, 1'000'000), [](int w) { return w / 7.0; })));
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  const auto parts = apportion(total, weights);
  RC_ASSERT(std::accumulate(parts.begin(), parts.end(), std::int64_t{0}) == total);
  for (std::size_t i = 0; i < parts.size(); ++i)
    RC_ASSERT(std::abs(static_cast<double>(parts[i]) -
                       static_cast<double>(total) * weights[i] / sum) < 1.0 + 1e-6);
}

TEST(Apportion, largest_remainders_receive_the_rest) {
  EXPECT_THAT(apportion(10, std::vector<double>{1, 1, 1}), ElementsAre(4, 3, 3));
  EXPECT_THAT(apportion(10, std::vector<double>{0.15, 0.58, 0.27}),
              ElementsAre(1, 6, 3));  // 1.5, 5.8, 2.7
  EXPECT_THAT(apportion(2, std::vector<double>{0, 1, 0}), ElementsAre(0, 2, 0));
}

// A component of a symmetric Dirichlet over n has mean 1/n and variance (n - 1) / (n^2 (n alpha +
// 1)).
TEST(Dirichlet, has_the_mean_and_variance_of_the_distribution) {
  constexpr int kDraws = 20'000, n = 4;
  for (const double alpha : {0.1, 0.5, 1.0, 10.0}) {
    double sum = 0, squares = 0;
    for (std::uint32_t draw = 0; draw < kDraws; ++draw) {
      const auto weights = dirichlet(random_of(draw), alpha, n);
      const double part = weights[1] / std::accumulate(weights.begin(), weights.end(), 0.0);
      sum += part, squares += part * part;
    }
    const double mean = sum / kDraws, variance = squares / kDraws - mean * mean;
    const double expected = (n - 1) / (n * n * (n * alpha + 1));
    EXPECT_NEAR(mean, 1.0 / n, 4 * std::sqrt(expected / kDraws)) << alpha;
    EXPECT_NEAR(variance, expected, 0.05 * expected) << alpha;
  }
}

TEST(Dirichlet, with_the_smallest_concentration_gives_all_to_one_part) {
  for (std::uint32_t draw = 0; draw < 100; ++draw) {
    const auto weights = dirichlet(random_of(draw), 0.001, 8);
    EXPECT_EQ(*std::max_element(weights.begin(), weights.end()), 1.0);
    for (const double weight : weights) EXPECT_TRUE(std::isfinite(weight));
  }
}

TEST(Dirichlet, depends_only_on_its_stream) {
  EXPECT_EQ(dirichlet(random_of(3), 0.5, 5), dirichlet(random_of(3), 0.5, 5));
  EXPECT_NE(dirichlet(random_of(3), 0.5, 5), dirichlet(random_of(4), 0.5, 5));
}

}  // namespace
}  // namespace trainyard::data
