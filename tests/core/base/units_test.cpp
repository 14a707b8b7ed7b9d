// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/units.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace trainyard::base {
namespace {

TEST(Units, format_three_significant_digits_with_an_si_prefix) {
  EXPECT_EQ(with_unit(2.7e6, "B"), "2.7 MB");
  EXPECT_EQ(with_unit(1e10, "bit/s"), "10 Gbit/s");
  EXPECT_EQ(with_unit(0, "B"), "0 B");
  EXPECT_EQ(with_unit(1, "B"), "1 B");
  EXPECT_EQ(with_unit(-1234, "B"), "-1.23 kB");
  EXPECT_EQ(with_unit(123456, "B"), "123 kB");
}

TEST(Units, use_the_next_prefix_after_rounding_up) {
  EXPECT_EQ(with_unit(999.4, "B"), "999 B");
  EXPECT_EQ(with_unit(999.6, "B"), "1 kB");
  EXPECT_EQ(with_unit(999'600, "B"), "1 MB");
}

TEST(Units, format_the_smallest_and_the_largest_value) {
  EXPECT_EQ(with_unit(3e-12, "s"), "0.003 ns");
  EXPECT_EQ(with_unit(1.5e-19, "s"), "1.5e-10 ns");
  EXPECT_EQ(format_seconds(1e300), with_unit(1e300, "s"));
  EXPECT_EQ(with_unit(3e18, "B"), "3000 PB");
  EXPECT_EQ(with_unit(std::nan(""), "s"), "nan s");
  EXPECT_EQ(with_unit(std::numeric_limits<double>::infinity(), "s"), "inf s");
}

TEST(Units, format_long_times_in_minutes_and_hours) {
  EXPECT_EQ(format_seconds(0.0034), "3.4 ms");
  EXPECT_EQ(format_seconds(125), "2 min 5 s");
  EXPECT_EQ(format_seconds(7384), "2 h 3 min");
  EXPECT_EQ(format_seconds(59.98), "60 s");
  EXPECT_EQ(format_seconds(-125), "-2 min 5 s");
  EXPECT_EQ(format_seconds(std::numeric_limits<double>::infinity()), "inf s");
  EXPECT_EQ(format_seconds(std::nan("")), "nan s");
}

TEST(Units, group_counts_by_thousands) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(668672), "668,672");
  EXPECT_EQ(format_count(-1000), "-1,000");
  EXPECT_EQ(format_count(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
}

}  // namespace
}  // namespace trainyard::base
