// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/runs/failure.h"

#include <gtest/gtest.h>

#include <span>

#include "core/base/json.h"

namespace trainyard::ui {
namespace {

using Ranks = std::set<int>;

void take(telemetry::History& history, telemetry::FrameType type, const base::Json& json) {
  const std::string text = json.dump();
  ASSERT_TRUE(history.take({type, -1, std::as_bytes(std::span(text))}));
}

TEST(Failure, is_read_from_the_result_of_a_run) {
  telemetry::History history;
  EXPECT_FALSE(failure_of_run(history));
  take(history, telemetry::FrameType::result,
       {{"status", "failed"},
        {"problem",
         {{"code", "failed"},
          {"where", "rank 2"},
          {"what", "died"},
          {"accepted", ""},
          {"advice", "look at its log"}}}});
  ASSERT_TRUE(failure_of_run(history));
  EXPECT_EQ(failure_of_run(history)->where, "rank 2");
  EXPECT_EQ(failure_of_run(history)->advice, "look at its log");
}

Ranks ranks_at(const std::string& where) {
  return ranks_in_problem({"test_problem", base::ProblemCode::failed, where, "", "", ""});
}

TEST(Failure, has_the_ranks_of_its_location) {
  EXPECT_EQ(ranks_at("rank 2 (host0/cpu2)"), Ranks{2});
  EXPECT_EQ(ranks_at("rank 13"), Ranks{13});
  EXPECT_EQ(ranks_at("final weights"), Ranks{});
  EXPECT_EQ(ranks_at("rank 0 (host0/cpu0), rank 1 (host0/cpu1)"), (Ranks{0, 1}));
}

}  // namespace
}  // namespace trainyard::ui
