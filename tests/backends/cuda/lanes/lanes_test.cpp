// SPDX-License-Identifier: GPL-3.0-or-later
// Attention with its matrices laid out among the lanes of a warp as on a GPU, by warps whose lanes
// are threads.
#include "tests/backends/cuda/host/host_device.h"
#include "tests/conformance/compute_attention_conformance.h"

namespace trainyard::conformance {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ComputeConformance);

TEST(Lanes, of_one_warp_compute_the_attention_of_the_reference) {
  const auto device = cuda::on_host({.team = 32}), reference = compute::reference::make();
  for (const AttentionSizes& sizes : {AttentionSizes{1, 5, 1, 16}, {1, 66, 1, 64}})
    expect_near_the_reference(*device, *reference, DType::bf16, sizes);
}

TEST(Lanes, of_two_warps_compute_the_attention_of_the_reference) {
  const auto device = cuda::on_host({.team = 64}), reference = compute::reference::make();
  expect_near_the_reference(*device, *reference, DType::fp16, {1, 34, 1, 128});
}

}  // namespace trainyard::conformance
