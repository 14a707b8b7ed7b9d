// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/inspector/quantity.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace trainyard::ui {
namespace {

TEST(Quantity, numbers_have_a_prefix_of_their_magnitude) {
  EXPECT_EQ(format_quantity(4e9, "B"), "4 GB");
  EXPECT_EQ(format_quantity(50e-6, "s"), "50 µs");
  EXPECT_EQ(format_quantity(10e9, "bit/s"), "10 Gbit/s");
  EXPECT_EQ(format_quantity(1'234'567, "B"), "1.234567 MB");
  EXPECT_EQ(format_quantity(0, "B"), "0 B");
  EXPECT_EQ(format_quantity(128, "samples"), "128 samples");
  EXPECT_EQ(format_quantity(0.1, ""), "0.1");
}

TEST(Quantity, one_is_singular_and_can_be_parsed) {
  EXPECT_EQ(format_quantity(1, "samples"), "1 sample");
  EXPECT_EQ(format_quantity(1, "s"), "1 s");
  EXPECT_EQ(parse_quantity("1 sample", "samples"), 1);
  EXPECT_EQ(parse_quantity("1 class", "classes"), 1);
}

TEST(Quantity, counts_are_grouped) {
  EXPECT_EQ(format_quantity(8000, "samples"), "8,000 samples");
  EXPECT_EQ(format_quantity(1'234'567, "steps"), "1,234,567 steps");
  EXPECT_EQ(format_quantity(999, "steps"), "999 steps");
  EXPECT_EQ(format_quantity(0.5, "steps"), "0.5 steps");
  EXPECT_EQ(format_quantity(1'234'567'890'123, "B"), "1,234,567,890,123 B");
  EXPECT_EQ(format_quantity(20261122, ""), "20261122") << "a seed is not a count";
}

TEST(Quantity, commas_are_accepted_as_grouping_and_during_typing) {
  EXPECT_EQ(parse_quantity("1,234,567 B", "B"), 1'234'567);
  EXPECT_EQ(parse_quantity("1234567 B", "B"), 1'234'567);
  EXPECT_EQ(parse_quantity("8,00 samples", "samples"), 800);
  EXPECT_EQ(parse_quantity("8,0000 samples", "samples"), 80000);
  for (const char* text : {"0,5", "2,5 ", "1,23,456", "1,2345"})
    for (const char* unit : {"", "B", "s"})
      EXPECT_FALSE(parse_quantity(text, unit)) << text << " " << unit;
}

// A comma after a zero is a decimal comma: "0,001" is a thousandth.
TEST(Quantity, comma_after_a_leading_zero_is_refused) {
  for (const char* text : {"0,001", "0,5", "-0,125", "00,100"})
    for (const char* unit : {"", "B", "s", "samples"})
      EXPECT_FALSE(parse_quantity(text, unit)) << text << " " << unit;
}

TEST(Quantity, common_spellings_are_parsed) {
  EXPECT_EQ(parse_quantity("4GB", "B"), 4e9);
  EXPECT_EQ(parse_quantity(" 2.5 M ", "B"), 2.5e6);
  EXPECT_EQ(parse_quantity("50 us", "s"), 50e-6);
  EXPECT_EQ(parse_quantity("1e3", "steps"), 1000);
  EXPECT_EQ(parse_quantity("8,000 samples", "samples"), 8000);
  EXPECT_EQ(parse_quantity("10 Gbit/s", "bit/s"), 10e9);
}

TEST(Quantity, invalid_texts_are_refused) {
  for (const char* text : {"", "fast", "1 2", "3 xB", "1e999", "--1", "4 seconds"})
    EXPECT_FALSE(parse_quantity(text, "B")) << text;
  EXPECT_FALSE(parse_quantity("4 k", "samples")) << "counts take no prefix";
}

TEST(Quantity, round_numbers_step_by_one_two_five) {
  EXPECT_DOUBLE_EQ(next_round(0.1, true), 0.2);
  EXPECT_DOUBLE_EQ(next_round(0.1, false), 0.05);
  EXPECT_DOUBLE_EQ(next_round(3, true), 5);
  EXPECT_DOUBLE_EQ(next_round(3, false), 2);
  EXPECT_DOUBLE_EQ(next_round(0, true), 1e-6);
  EXPECT_DOUBLE_EQ(next_round(1e-6, false), 0);
}

RC_GTEST_PROP(Quantity, formatted_text_can_be_parsed_exactly, ()) {
  const double value =
      std::ldexp(static_cast<double>(*rc::gen::inRange<std::int64_t>(1, 1LL << 52)),
                 *rc::gen::inRange(-80, 0));
  const char* unit = *rc::gen::element("B", "s", "bit/s", "", "steps");
  const auto read = parse_quantity(format_quantity(value, unit), unit);
  RC_ASSERT(read.has_value());
  RC_ASSERT(*read == value);
}

}  // namespace
}  // namespace trainyard::ui
