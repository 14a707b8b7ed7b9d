// SPDX-License-Identifier: GPL-3.0-or-later
// A build without NCCL's header.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/nccl/nccl.h"
#include "tests/problem_matchers.h"

namespace trainyard::nccl {
namespace {

TEST(NoNccl, problem_has_advice_to_add_nccl_to_the_build) {
  const auto bound = nccl::bind({}, nullptr);
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().code, base::ProblemCode::unavailable);
  EXPECT_THAT(bound.error(), testing::AllOf(base::IsProblem("engine_not_built", "strategy.engine"),
                                            base::Advises("TRAINYARD_CUDA=ON")));
  EXPECT_FALSE(supports(comm::CollectiveKind::broadcast, base::Reduction::sum, base::DType::fp32));
}

}  // namespace
}  // namespace trainyard::nccl
