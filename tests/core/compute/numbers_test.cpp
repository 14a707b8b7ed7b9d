// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/compute/numbers.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "core/compute/reference/reference.h"

namespace trainyard::compute {
namespace {

using base::DType;

using Bytes = std::array<std::byte, 8>;

Bytes random_bytes(std::mt19937_64& random) {
  Bytes bytes;
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

class Numbers : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(All, Numbers,
                         testing::Values(DType::fp32, DType::fp64, DType::int32, DType::fp16,
                                         DType::bf16),
                         [](const auto& row) { return std::string(base::name_of(row.param)); });

// Any bits at all: numbers, subnormal ones, infinities and NaN.
TEST_P(Numbers, are_added_bit_for_bit_as_by_a_device) {
  const auto device = reference::make();
  std::mt19937_64 random(7);
  int finite = 0;
  for (int i = 0; i < 20'000; ++i) {
    const Bytes a = random_bytes(random), b = random_bytes(random);
    Bytes sum{};
    const std::array<const std::byte*, 2> sources{a.data(), b.data()};
    device->sum(GetParam(), sum.data(), sources, 1);
    const double expected = number_at(GetParam(), sum.data()),
                 added = adding_in(GetParam())(number_at(GetParam(), a.data()),
                                               number_at(GetParam(), b.data()));
    ASSERT_TRUE(same_number(added, expected)) << added << " and " << expected << " at " << i;
    finite += std::isfinite(expected) ? 1 : 0;
  }
  EXPECT_GT(finite, 15'000);
}

TEST(Number, is_read_from_its_bits) {
  const std::uint16_t half = 0x3555, brain = 0x3EAB;
  EXPECT_EQ(number_at(DType::fp16, reinterpret_cast<const std::byte*>(&half)), 0.333251953125);
  EXPECT_EQ(number_at(DType::bf16, reinterpret_cast<const std::byte*>(&brain)), 0.333984375);
  const float third = 1.0F / 3;
  EXPECT_EQ(number_at(DType::fp32, reinterpret_cast<const std::byte*>(&third)),
            static_cast<double>(third));
  EXPECT_EQ(adding_in(DType::byte), nullptr);
}

TEST(Number, equals_another_with_the_same_bits_and_all_nans_are_equal) {
  EXPECT_TRUE(same_number(0.1, 0.1));
  EXPECT_FALSE(same_number(0.0, -0.0));
  EXPECT_FALSE(same_number(0.1, std::nextafter(0.1, 1)));
  EXPECT_TRUE(same_number(std::nan("1"), -std::nan("2")));
}

}  // namespace
}  // namespace trainyard::compute
