// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace trainyard::base {
namespace {

using testing::HasSubstr;

TEST(Problem, text_has_location_finding_accepted_values_and_advice) {
  EXPECT_EQ(to_string(Problem{"made_by_test", ProblemCode::bad_input, "run.steps",
                              "-1 is out of range", "at least 1", "Set it."}),
            "run.steps: -1 is out of range (accepted: at least 1). Set it.");
  EXPECT_EQ(to_string(Problem{"made_by_test", ProblemCode::failed, "", "it broke", "", ""}),
            "it broke");
}

TEST(Problem, list_is_printed_one_per_line) {
  EXPECT_EQ(to_string(Problems{{"made_by_test", ProblemCode::failed, "a", "b", "", ""},
                               {"made_by_test", ProblemCode::failed, "c", "d", "", ""}}),
            "a: b\nc: d\n");
}

TEST(Problem, of_a_system_call_contains_the_reason) {
  const Problem problem = system_problem("/x", "cannot open the file", ENOENT);
  EXPECT_EQ(problem.code, ProblemCode::failed);
  EXPECT_EQ(
      to_string(problem),
      "/x: cannot open the file: No such file or directory. Check the path: a part of it does "
      "not exist.");
}

TEST(Problem, of_a_system_call_contains_advice) {
  const auto advice = [](int error_number) {
    return system_problem("/x", "cannot write the file", error_number).advice;
  };
  EXPECT_THAT(advice(ENOSPC), HasSubstr("Free space"));
  EXPECT_THAT(advice(EDQUOT), HasSubstr("quota"));
  EXPECT_THAT(advice(EFBIG), HasSubstr("ulimit -f"));
  EXPECT_THAT(advice(EROFS), HasSubstr("read-only"));
  for (const int denied : {EACCES, EPERM}) EXPECT_THAT(advice(denied), HasSubstr("permissions"));
  EXPECT_THAT(advice(ENOTDIR), HasSubstr("directory"));
  EXPECT_THAT(advice(EMFILE), HasSubstr("ulimit -n"));
  EXPECT_EQ(advice(ENOMEM), out_of_memory("").advice);
  EXPECT_NE(advice(EXDEV), "") << "the error has no specific advice";
}

TEST(Problem, codes_have_distinct_names) {
  EXPECT_EQ(name(ProblemCode::bad_usage), "bad_usage");
  EXPECT_EQ(name(ProblemCode::bad_input), "bad_input");
  EXPECT_EQ(name(ProblemCode::unavailable), "unavailable");
  EXPECT_EQ(name(ProblemCode::refused), "refused");
  EXPECT_EQ(name(ProblemCode::failed), "failed");
  EXPECT_EQ(name(ProblemCode::canceled), "cancelled");
}

TEST(Result, holds_a_value_or_a_problem) {
  const Result<int> good = 3;
  const Result<int> bad = fail({"made_by_test", ProblemCode::refused, "here", "no", "", ""});
  EXPECT_EQ(good.value(), 3);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, ProblemCode::refused);
}

}  // namespace
}  // namespace trainyard::base
