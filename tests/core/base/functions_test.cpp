// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trainyard::base {
namespace {

using testing::HasSubstr;

TEST(Functions, of_a_library_are_found_by_name) {
  Functions functions("libm.so.6", "");
  double (*cosine)(double) = nullptr;
  functions.find(cosine, "cos");
  ASSERT_TRUE(functions.state());
  EXPECT_EQ(cosine(0), 1);
}

TEST(Functions, the_first_that_is_not_there_is_said_unless_it_may_be_lacking) {
  Functions functions("libm.so.6", "Install another.");
  void (*none)() = nullptr;
  functions.find_optional(none, "no_such_thing");
  EXPECT_TRUE(functions.state());
  functions.find(none, "no_such_function");
  functions.find(none, "nor_this");
  EXPECT_EQ(none, nullptr);
  const auto state = functions.state();
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error(),
            (Problem{"library_unavailable", ProblemCode::unavailable, "libm.so.6",
                     "the library has no function no_such_function", "", "Install another."}));
}

TEST(Functions, of_no_library_are_none) {
  Functions functions("/no/such/library.so", "");
  void* (*allocate)(std::size_t) = nullptr;
  functions.find(allocate, "malloc");
  EXPECT_EQ(allocate, nullptr) << "that of this program";
  ASSERT_FALSE(functions.state());
  EXPECT_THAT(functions.state().error().what, HasSubstr("cannot be opened"));
}

}  // namespace
}  // namespace trainyard::base
