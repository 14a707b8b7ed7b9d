// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/backends/cuda/host/host_device.h"
#include "tests/conformance/compute_attention_conformance.h"
#include "tests/conformance/compute_compression_conformance.h"
#include "tests/conformance/compute_embedding_conformance.h"
#include "tests/conformance/compute_row_conformance.h"

namespace trainyard::conformance {

static std::vector<Backend> backends() {
  std::vector<Backend> all{{"kernels_on_the_host", [] { return cuda::on_host(); }}};
  if (const std::string cudnn = TRAINYARD_CUDNN; !cudnn.empty())
    all.push_back({"and_cudnn", [cudnn] { return cuda::on_host({.cudnn = cudnn}); }});
  return all;
}

INSTANTIATE_TEST_SUITE_P(cuda, ComputeConformance, testing::ValuesIn(backends()));

// Three threads are no divisor of any tile: what one of them leaves out, or reads before another
// has written it, shows; ThreadSanitizer sees it, too.
TEST(TeamKernels, of_three_threads_equal_the_reference) {
  const auto device = cuda::on_host({.team = 3}), reference = compute::reference::make();
  ASSERT_GE(all_cases().size(), 60u);
  for (const Sizes& sizes : {Sizes{0, 7, 5}, {7, 17, 33}})
    for (const NamedCase& named : all_cases())
      compare(*device, *reference, named, DType::fp32, sizes);
}

TEST(TeamKernels, of_any_size_normalize_rows) {
  const auto reference = compute::reference::make();
  for (const int size : {2, 3, 5})
    expect_rows_normalized(*cuda::on_host({.team = size}), *reference);
}

TEST(TeamKernels, of_any_size_compress_like_the_reference) {
  const auto reference = compute::reference::make();
  for (const int size : {2, 3, 7}) {
    const auto device = cuda::on_host({.team = size});
    for (const Scheme scheme : {Scheme::int8, Scheme::sign, Scheme::top_k, Scheme::random_k})
      for (const std::int64_t elements : {7, 1025})
        for (const Numbers kind : kNumbers)
          expect_compressed_alike(*device, *reference, spec_of(scheme), elements, kind);
  }
}

TEST(TeamKernels, of_three_threads_run_power_sgd_like_the_reference) {
  const auto device = cuda::on_host({.team = 3}), reference = compute::reference::make();
  expect_power_sgd_alike(*device, *reference, 4, true);
}

TEST(TeamKernels, of_any_size_compute_identical_16_bit_attention) {
  const auto alone = cuda::on_host();
  for (const int size : {3, 4, 5})
    for (const AttentionSizes& sizes : {AttentionSizes{1, 140, 2, 64}, {2, 65, 1, 128}})
      expect_same_bits(*alone, *cuda::on_host({.team = size}), DType::bf16, sizes, 0);
}

}  // namespace trainyard::conformance
