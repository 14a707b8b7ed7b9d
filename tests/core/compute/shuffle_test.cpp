// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/compute/compression/shuffle.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <vector>

namespace trainyard::compute::compression {
namespace {

Shuffle shuffle(std::uint64_t seed, std::int64_t elements) {
  return {base::Random(seed, base::Purpose::compress, 3), elements};
}

void expect_permutation(const Shuffle& of, std::int64_t elements) {
  std::vector<int> times(static_cast<std::size_t>(elements));
  for (std::int64_t i = 0; i < elements; ++i) {
    const std::int64_t place = of.place(i);
    ASSERT_TRUE(place >= 0 && place < elements) << place << " of " << elements;
    ++times[static_cast<std::size_t>(place)];
    ASSERT_EQ(of.number(place), i) << "of " << elements;
  }
  for (std::int64_t i = 0; i < elements; ++i)
    ASSERT_EQ(times[static_cast<std::size_t>(i)], 1) << i << " of " << elements;
}

TEST(Shuffle, is_a_bijection) {
  for (std::int64_t elements = 1; elements < 300; ++elements)
    expect_permutation(shuffle(7, elements), elements);
  for (const std::int64_t elements : {1023, 1024, 1025, 65536, 65537, 100000})
    expect_permutation(shuffle(8, elements), elements);
}

RC_GTEST_PROP(Shuffle, is_invertible_beyond_32_bits, ()) {
  const auto elements = *rc::gen::inRange<std::int64_t>(1, std::int64_t{1} << 40),
             number = *rc::gen::inRange<std::int64_t>(0, elements);
  const Shuffle of = shuffle(*rc::gen::arbitrary<std::uint64_t>(), elements);
  const std::int64_t place = of.place(number);
  RC_ASSERT(place >= 0 && place < elements);
  RC_ASSERT(of.number(place) == number);
}

// chi^2 of `cells` that should be alike has a mean of cells - 1 and a variance of 2 (cells - 1).
void expect_alike(const std::vector<int>& times) {
  double all = 0, squares = 0;
  for (const int count : times) all += count;
  const double mean = all / static_cast<double>(times.size()),
               freedom = static_cast<double>(times.size()) - 1;
  for (const int count : times) squares += (count - mean) * (count - mean) / mean;
  EXPECT_LT(squares, freedom + 5 * std::sqrt(2 * freedom)) << "over " << times.size();
}

// How often two numbers come to lie where, of all pairs of places.
TEST(Shuffle, maps_pairs_uniformly) {
  for (const std::int64_t elements : {8, 12, 37}) {
    std::vector<int> pairs(static_cast<std::size_t>(elements * (elements - 1)));
    for (std::uint64_t seed = 0; seed < 40 * pairs.size(); ++seed) {
      const Shuffle of = shuffle(seed, elements);
      const std::int64_t one = of.place(0), other = of.place(1);
      ++pairs[static_cast<std::size_t>(one * (elements - 1) + other - (other > one ? 1 : 0))];
    }
    expect_alike(pairs);
  }
}

// A seed determines these indices, on any rank.
TEST(Shuffle, of_a_seed_does_not_change_between_versions) {
  constexpr Shuffle of{base::Random(7, base::Purpose::compress, 3), 1000};
  static_assert(of.number(of.place(999)) == 999);
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < 6; ++i) places.push_back(of.place(i));
  EXPECT_EQ(places, (std::vector<std::int64_t>{324, 186, 98, 815, 361, 23}));
}

}  // namespace
}  // namespace trainyard::compute::compression
