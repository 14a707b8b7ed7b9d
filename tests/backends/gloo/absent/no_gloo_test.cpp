// SPDX-License-Identifier: GPL-3.0-or-later
// The stub, as a build without Gloo has it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/gloo/gloo.h"
#include "tests/problem_matchers.h"

namespace trainyard::gloo {
namespace {

TEST(NoGloo, problem_has_advice_to_install_and_configure) {
  const auto bound = bind({});
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().code, base::ProblemCode::unavailable);
  EXPECT_THAT(bound.error(),
              testing::AllOf(base::IsProblem("engine_not_built", "strategy.engine"),
                             base::Advises("libgloo-dev"), base::Advises("-DTRAINYARD_GLOO=ON")));
  EXPECT_EQ(version(), "");
  EXPECT_FALSE(supports(comm::CollectiveKind::all_reduce, base::Reduction::sum, base::DType::fp32));
}

}  // namespace
}  // namespace trainyard::gloo
