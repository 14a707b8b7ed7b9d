// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/system/rank_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/base/machine.h"

namespace trainyard::session {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(RankEnvironment, idle_threads_of_several_cores_sleep) {
  EXPECT_THAT(thread_settings(1), ElementsAre("OPENBLAS_NUM_THREADS=1"));
  EXPECT_THAT(thread_settings(3), ElementsAre("OPENBLAS_NUM_THREADS=3", "OMP_WAIT_POLICY=passive"));
}

TEST(RankEnvironment, levels_limit_all_libraries) {
  EXPECT_THAT(cpu_level_settings(0), IsEmpty());
  EXPECT_THAT(cpu_level_settings(1),
              ElementsAre("TRAINYARD_CPU_LEVEL=1", "ONEDNN_MAX_CPU_ISA=SSE41",
                          "OPENBLAS_CORETYPE=Nehalem"));
  EXPECT_THAT(cpu_level_settings(4),
              ElementsAre("TRAINYARD_CPU_LEVEL=4", "ONEDNN_MAX_CPU_ISA=AVX512_CORE",
                          "OPENBLAS_CORETYPE=SkylakeX"));
}

TEST(RankEnvironment, states_the_place_as_torchrun_does) {
  EXPECT_THAT(place_variables(place_of(3, {0, 1, 0, 1, 1})),
              ElementsAre("RANK=3", "LOCAL_RANK=1", "WORLD_SIZE=5"));
}

TEST(RankEnvironment, limit_lowers_the_level_of_this_cpu) {
  const int own = base::cpu_level();
  EXPECT_FALSE(base::is_cpu_level_limited());
  for (const auto& [limit, expected] :
       {std::pair("1", std::min(own, 1)), std::pair("2", std::min(own, 1)),
        std::pair("3", std::min(own, 3)), std::pair("9", own)}) {
    ::setenv("TRAINYARD_CPU_LEVEL", limit, 1);
    EXPECT_EQ(base::cpu_level(), expected) << limit;
    EXPECT_TRUE(base::is_cpu_level_limited());
  }
  ::setenv("TRAINYARD_CPU_LEVEL", "newest", 1);
  EXPECT_EQ(base::cpu_level(), own);
  ::unsetenv("TRAINYARD_CPU_LEVEL");
}

TEST(RankEnvironment, kernels_are_set_as_on_the_coordinator) {
  ::setenv("OPENBLAS_CORETYPE", "Haswell", 1);
  ::setenv("ONEDNN_MAX_CPU_ISA", "AVX2", 1);
  const std::vector<std::string> before = kernel_settings();
  EXPECT_THAT(before,
              testing::IsSupersetOf({"OPENBLAS_CORETYPE=Haswell", "ONEDNN_MAX_CPU_ISA=AVX2"}));
  apply_kernel_settings({"OPENBLAS_CORETYPE=SkylakeX", "LD_PRELOAD=x", "DNNL_MAX_CPU_ISA=/x"});
  EXPECT_THAT(kernel_settings(), testing::ElementsAre("OPENBLAS_CORETYPE=SkylakeX"));
  EXPECT_EQ(std::getenv("LD_PRELOAD"), nullptr) << "no other variable can be set";
  apply_kernel_settings(before);
  EXPECT_EQ(kernel_settings(), before);
  ::unsetenv("OPENBLAS_CORETYPE");
  ::unsetenv("ONEDNN_MAX_CPU_ISA");
}

}  // namespace
}  // namespace trainyard::session
