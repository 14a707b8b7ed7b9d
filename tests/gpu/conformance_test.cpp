// SPDX-License-Identifier: GPL-3.0-or-later
// What every Compute must do, on each GPU of this machine; without one there is nothing to test, and it is said why.
#include "tests/conformance/compute_attention_conformance.h"
#include "tests/conformance/compute_chain_conformance.h"
#include "tests/conformance/compute_compression_conformance.h"
#include "tests/conformance/compute_embedding_conformance.h"
#include "tests/conformance/compute_row_conformance.h"
#include "tests/gpu/gpus.h"

namespace trainyard::conformance {

// cuBLASLt and the driver keep lists of what they are given.
constexpr long kOfDriver = 64;

// Every GPU reaches what one of them has allocated.
compute::Memory allocated(std::size_t bytes) {
  static const auto compute = tests::gpu(0);
  return compute->allocate_at_hand(static_cast<std::int64_t>(bytes), "test").value();
}

std::vector<Backend> backends() {
  std::vector<Backend> all;
  const std::vector<int> numbers = tests::gpu_numbers();
  if (!numbers.empty()) allocate_values = allocated;
  for (const int number : numbers) all.push_back({"gpu_" + std::to_string(number), [number] { return tests::gpu(number); }, kOfDriver});
  return all;
}

TEST(Gpu, is_here_or_it_is_said_why_not) {
  const auto found = cuda::gpus();
  if (!found) GTEST_SKIP() << base::to_string(found.error());
  EXPECT_EQ(backends().size(), found->size());
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ComputeConformance);
INSTANTIATE_TEST_SUITE_P(gpu, ComputeConformance, testing::ValuesIn(backends()));

}  // namespace trainyard::conformance
