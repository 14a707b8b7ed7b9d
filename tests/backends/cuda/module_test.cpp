// SPDX-License-Identifier: GPL-3.0-or-later
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "backends/cuda/cuda.h"
#include "tests/problem_matchers.h"

namespace trainyard::cuda {
namespace {

namespace fs = std::filesystem;
using base::Advises;
using base::IsProblem;
using base::ProblemCode;
using base::Reports;
using testing::AllOf;
using testing::AnyOf;

class Module : public testing::Test {
 protected:
  Module() { fs::create_directories(directory_); }
  ~Module() override { fs::remove_all(directory_); }
  const fs::path directory_ =
      fs::path(testing::TempDir()) / ("trainyard-module-" + std::to_string(::getpid()));
};

TEST_F(Module, that_is_missing_is_reported_with_advice) {
  const auto opened = open_module(directory_ / kModuleFile);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ProblemCode::unavailable);
  EXPECT_THAT(opened.error(), AllOf(IsProblem("cuda_module_unavailable", kModuleFile),
                                    Advises("CUDA Toolkit"), Advises("-DTRAINYARD_CUDA=ON")));
}

TEST_F(Module, that_is_not_a_library_is_refused) {
  std::ofstream(directory_ / kModuleFile) << "not a library";
  const auto opened = open_module(directory_ / kModuleFile);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ProblemCode::unavailable);
  EXPECT_THAT(opened.error(),
              AllOf(IsProblem("cuda_module_unavailable", kModuleFile), Reports(kModuleFile)));
}

TEST_F(Module, that_is_another_library_is_refused) {
  Dl_info here{};
  ASSERT_NE(::dladdr(reinterpret_cast<void*>(&::getpid), &here), 0);
  const auto opened = open_module(here.dli_fname);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().id, "cuda_module_unavailable") << here.dli_fname;
}

TEST_F(Module, of_another_version_is_refused_with_both_versions) {
  const auto opened = open_module(TRAINYARD_OLD_MODULE);
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error(), AllOf(IsProblem("cuda_module_unavailable"), Reports("0.0.1"),
                                    Reports(TRAINYARD_VERSION)));
}

// Whatever this machine has: GPUs with names and memory, or the reason why there are none.
TEST(Gpus, are_listed_or_the_reason_is_reported) {
  const auto found = gpus();
  if (!found) {
    EXPECT_EQ(found.error().code, ProblemCode::unavailable);
    EXPECT_THAT(found.error().id,
                AnyOf("cuda_module_unavailable", "no_driver", "driver_too_old", "no_gpu"));
    EXPECT_NE(found.error().advice, "");
    return;
  }
  EXPECT_FALSE(found->empty());
  for (const Gpu& gpu : *found) {
    EXPECT_NE(gpu.name, "");
    EXPECT_GT(gpu.memory_bytes, 0);
    EXPECT_GE(gpu.capability, 10);
  }
}

}  // namespace
}  // namespace trainyard::cuda
