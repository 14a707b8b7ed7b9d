// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/verify/figure_checks.h"

#include <gtest/gtest.h>

#include <limits>

namespace trainyard::session {
namespace {

using base::Json;

TEST(FigureChecks, numbers_agree_within_the_relative_tolerance) {
  EXPECT_TRUE(agree(3, 3.0, 0));
  EXPECT_FALSE(agree(3, 4, 0));
  EXPECT_TRUE(agree(1000.0, 1000.009, 1e-5));
  EXPECT_FALSE(agree(1000.0, 1000.02, 1e-5));
  EXPECT_TRUE(agree(0.0, 0.0, 0));
  EXPECT_FALSE(agree("1", 1, 1));
  EXPECT_FALSE(agree({}, 1, 1));
  EXPECT_TRUE(agree("a", "a", 0));
}

TEST(FigureChecks, numbers_that_are_not_finite_are_null_as_in_a_result) {
  EXPECT_TRUE(finite(std::nullopt).is_null());
  EXPECT_TRUE(finite(std::numeric_limits<double>::infinity()).is_null());
  EXPECT_TRUE(finite(std::numeric_limits<double>::quiet_NaN()).is_null());
  EXPECT_EQ(finite(2.5), 2.5);
}

TEST(FigureChecks, stated_values_are_found_by_path) {
  const Json result{{"wire_bytes", {{"payload", 7}}}, {"ranks", {{{"sent_bytes", 3}}}}};
  const FigureChecks checks(result);
  EXPECT_EQ(checks.stated("wire_bytes.payload"), 7);
  EXPECT_EQ(checks.stated("ranks.0.sent_bytes"), 3);
  EXPECT_TRUE(checks.stated("ranks.1.sent_bytes").is_null());
  EXPECT_TRUE(checks.stated("ranks.zero").is_null());
  EXPECT_TRUE(checks.stated("steps").is_null());
}

TEST(FigureChecks, compared_and_skipped_figures_are_listed_in_order) {
  const Json result{{"steps", 3}, {"samples", 5}, {"train_loss", nullptr}};
  FigureChecks checks(result);
  checks.compare("steps", 3);
  checks.compare("samples", 6);
  checks.compare("train_loss", {});  // no line: neither stated nor recomputed
  checks.compare("held_out_loss", 1.5);
  checks.skip("samples", "no recording");
  checks.skip("dropped_samples", "no recording");  // no line: not stated
  const auto list = checks.take();
  ASSERT_EQ(list.size(), 4u);
  EXPECT_EQ(list[0].status, CheckStatus::ok);
  EXPECT_EQ(list[1].status, CheckStatus::mismatch);
  EXPECT_EQ(list[2].name, "held_out_loss");
  EXPECT_EQ(list[2].status, CheckStatus::mismatch) << "a figure that the result does not state";
  EXPECT_EQ(list[3].status, CheckStatus::not_checked);
  EXPECT_EQ(list[3].stated, 5);
  EXPECT_EQ(list[3].note, "no recording");
}

}  // namespace
}  // namespace trainyard::session
