// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/compute/bfloat16.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace trainyard::compute {
namespace {

TEST(Bfloat16, rounds_to_the_nearest_of_eight_bits) {
  EXPECT_EQ(rounded_to_bfloat16(1 + 0x1p-9F), 1);
  EXPECT_EQ(rounded_to_bfloat16(1 + 0x1p-8F + 0x1p-20F), 1 + 0x1p-7F);
  EXPECT_EQ(rounded_to_bfloat16(-(1 + 0x1p-8F + 0x1p-20F)), -(1 + 0x1p-7F));
  EXPECT_EQ(rounded_to_bfloat16(3.14159265F), 3.140625F);
}

TEST(Bfloat16, rounds_ties_to_even) {
  EXPECT_EQ(rounded_to_bfloat16(1 + 0x1p-8F), 1);
  EXPECT_EQ(rounded_to_bfloat16(1 + 3 * 0x1p-8F), 1 + 0x1p-6F);
  EXPECT_EQ(rounded_to_bfloat16(2 - 0x1p-8F), 2) << "and carries into the exponent";
}

TEST(Bfloat16, overflows_to_infinity_at_half_of_the_last_step) {
  constexpr float greatest = 0x1.FEp127F;
  EXPECT_EQ(rounded_to_bfloat16(greatest), greatest);
  EXPECT_EQ(rounded_to_bfloat16(0x1.FEFFFEp127F), greatest);
  EXPECT_EQ(rounded_to_bfloat16(0x1.FFp127F), std::numeric_limits<float>::infinity());
  EXPECT_EQ(rounded_to_bfloat16(-std::numeric_limits<float>::max()),
            -std::numeric_limits<float>::infinity());
}

TEST(Bfloat16, keeps_infinity_and_nan) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(rounded_to_bfloat16(infinity), infinity);
  EXPECT_EQ(rounded_to_bfloat16(-infinity), -infinity);
  for (const std::uint32_t bits : {0x7F800001U, 0x7FC00000U, 0x7FFFFFFFU, 0xFF800001U, 0xFFFFFFFFU})
    EXPECT_TRUE(std::isnan(rounded_to_bfloat16(std::bit_cast<float>(bits)))) << std::hex << bits;
}

TEST(Bfloat16, leaves_representable_numbers_unchanged) {
  for (std::uint32_t upper = 0; upper < 0x10000; ++upper) {
    const auto value = std::bit_cast<float>(upper << 16);
    if (std::isnan(value)) continue;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(rounded_to_bfloat16(value)), upper << 16) << value;
  }
}

// Neither neighbor is nearer, subnormal numbers included; of two that are equally near it is the
// even one.
RC_GTEST_PROP(Bfloat16, is_the_nearest_representable_number, ()) {
  const auto bits = *rc::gen::inRange<std::uint32_t>(0, 0x7F7F0000);  // below the greatest
  const auto value = std::bit_cast<float>(bits), found = rounded_to_bfloat16(value);
  const auto below = std::bit_cast<float>(bits & 0xFFFF0000U),
             above = std::bit_cast<float>((bits & 0xFFFF0000U) + 0x10000U);
  RC_ASSERT(found == below || found == above);
  const double down = static_cast<double>(value) - below, up = static_cast<double>(above) - value;
  if (down != up) RC_ASSERT(found == (down < up ? below : above));
  else RC_ASSERT((std::bit_cast<std::uint32_t>(found) & 0x10000U) == 0);
}

}  // namespace
}  // namespace trainyard::compute
