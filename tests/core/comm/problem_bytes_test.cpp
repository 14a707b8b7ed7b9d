// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/comm/problem_bytes.h"

#include <gtest/gtest.h>

#include "core/base/random.h"

namespace trainyard::comm {
namespace {

TEST(ProblemBytes, decode_to_the_same_problem) {
  const base::Problem problem{"made_by_test",     base::ProblemCode::refused,
                              "rank 3, op AR.b2", "the plans differ",
                              "one plan",         "Install one version everywhere"};
  EXPECT_EQ(problem_from_bytes(to_bytes(problem)), problem);
  EXPECT_EQ(problem_from_bytes(to_bytes({})), base::Problem{});
}

TEST(ProblemBytes, truncate_long_text_to_the_limit) {
  const std::string text(100'000, 'x');
  const auto bytes = to_bytes({"made_by_test", base::ProblemCode::failed, text, text, text, text});
  EXPECT_LE(bytes.size(), kMaxProblemBytes);
  EXPECT_EQ(problem_from_bytes(bytes).advice,
            text.substr(0, problem_from_bytes(bytes).advice.size()));
  EXPECT_GT(problem_from_bytes(bytes).advice.size(), 400u);
}

TEST(ProblemBytes, of_any_content_are_decoded_safely) {
  const base::Random random(1, base::Purpose::generate, 0);
  for (std::uint64_t i = 0; i < 2000; ++i) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(random.below(i, 40)));
    for (std::size_t k = 0; k < bytes.size(); ++k)
      bytes[k] = static_cast<std::byte>(random.bits(i << 16 | k));
    const base::Problem problem = problem_from_bytes(bytes);
    EXPECT_LE(problem.where.size() + problem.what.size() + problem.accepted.size() +
                  problem.advice.size(),
              bytes.size());
  }
}

}  // namespace
}  // namespace trainyard::comm
