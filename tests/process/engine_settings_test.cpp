// SPDX-License-Identifier: GPL-3.0-or-later
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/engine.h"
#include "core/experiment/document.h"
#include "examples.h"
#include "gpu_machine.h"

namespace trainyard::process {
namespace {

using testing::Contains;
using testing::ElementsAre;

// Ranks 0 and 2 on one GPU, 1 and 3 on another.
experiment::Resolved on_two_gpus(const std::string& engine) {
  Overrides all{"strategy.engine=" + engine};
  for (int rank = 0; rank < 4; ++rank) all = with(all, on_gpu(rank, rank % 2));
  return experiment::load(kMirrored, all)
      .and_then([](const experiment::Experiment& e) {
        return experiment::resolve(e, ".").map_error(
            [](const auto& one) { return base::Problems{one}; });
      })
      .value();
}

TEST(EngineSettings, of_nccl_load_kernels_early_and_distinguish_ranks_of_one_gpu) {
  if (!has_nccl()) GTEST_SKIP() << kNoNccl;
  const experiment::Resolved e = on_two_gpus("nccl");
  for (const int first : {0, 1})
    EXPECT_THAT(app::engine_settings(e, first),
                ElementsAre("NCCL_RUNTIME_CONNECT=0", "NCCL_LAUNCH_ORDER_IMPLICIT=1",
                            "CUDA_MODULE_LOADING=EAGER", "CUDA_DEVICE_MAX_CONNECTIONS=32"));
  for (const int second : {2, 3})
    EXPECT_THAT(app::engine_settings(e, second), Contains("NCCL_HOSTID=trainyard-place-1"));
}

TEST(EngineSettings, of_other_engines_are_empty) {
  EXPECT_TRUE(app::engine_settings(on_two_gpus("own"), 0).empty());
}

}  // namespace
}  // namespace trainyard::process
