// SPDX-License-Identifier: GPL-3.0-or-later
// A build without cuDNN's header.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cuda/module/cudnn/cudnn.h"
#include "tests/problem_matchers.h"

namespace trainyard::cuda::cudnn {
namespace {

TEST(NoCudnn, problem_has_advice_to_add_cudnn_to_the_build) {
  const auto opened = open(nullptr);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, base::ProblemCode::unavailable);
  EXPECT_THAT(opened.error(),
              testing::AllOf(base::IsProblem("cudnn_unavailable", "cuda"), base::Advises("cuDNN")));
}

}  // namespace
}  // namespace trainyard::cuda::cudnn
