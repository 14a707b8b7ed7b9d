// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/problem_matchers.h"

namespace trainyard::base {
namespace {

using testing::AllOf;

TEST(Functions, finds_functions_of_a_library_by_name) {
  Functions functions("libm.so.6", "");
  double (*cosine)(double) = nullptr;
  functions.find(cosine, "cos");
  ASSERT_TRUE(functions.state());
  EXPECT_EQ(cosine(0), 1);
}

TEST(Functions, reports_the_first_missing_function_that_is_not_optional) {
  Functions functions("libm.so.6", "Install another.");
  void (*none)() = nullptr;
  functions.find_optional(none, "no_such_thing");
  EXPECT_TRUE(functions.state());
  functions.find(none, "no_such_function");
  functions.find(none, "nor_this");
  EXPECT_EQ(none, nullptr);
  const auto state = functions.state();
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().code, ProblemCode::unavailable);
  EXPECT_EQ(state.error().advice, "Install another.");
  EXPECT_THAT(state.error(),
              AllOf(IsProblem("library_unavailable", "libm.so.6"), Reports("no_such_function")));
}

TEST(Functions, finds_no_function_of_a_missing_library) {
  Functions functions("/no/such/library.so", "");
  void* (*allocate)(std::size_t) = nullptr;
  functions.find(allocate, "malloc");
  EXPECT_EQ(allocate, nullptr) << "found in this program";
  ASSERT_FALSE(functions.state());
  EXPECT_THAT(functions.state().error(), IsProblem("library_unavailable", "/no/such/library.so"));
}

}  // namespace
}  // namespace trainyard::base
