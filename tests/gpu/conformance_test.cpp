// SPDX-License-Identifier: GPL-3.0-or-later
// What every Compute must do, on each GPU of this machine; without one there is nothing to test, and it is said why.
#include "backends/cuda/cuda.h"
#include "tests/conformance/compute_embedding_conformance.h"
#include "tests/conformance/compute_halves_conformance.h"

namespace trainyard::conformance {

// cuBLASLt and the driver keep lists of what they are given.
constexpr long kOfDriver = 64;

std::unique_ptr<compute::Compute> gpu(int number) { return std::move(*(*cuda::module_beside_program())->make_compute(number)); }

// Every GPU reaches what one of them has allocated.
compute::Memory allocated(std::size_t bytes) {
  static const auto compute = gpu(0);
  return compute->allocate(static_cast<std::int64_t>(bytes), "test").value();
}

std::vector<Backend> backends() {
  std::vector<Backend> all;
  const auto found = cuda::gpus();
  if (!found) return all;
  allocate_values = allocated;
  for (const cuda::Gpu& one : *found) all.push_back({"gpu_" + std::to_string(one.number), [number = one.number] { return gpu(number); }, kOfDriver});
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
