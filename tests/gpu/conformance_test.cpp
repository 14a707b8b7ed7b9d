// SPDX-License-Identifier: GPL-3.0-or-later
// What every Compute must do, on each GPU of this machine; without one there is nothing to test, and it is said why.
#include "backends/cuda/cuda.h"
#include "tests/conformance/compute_embedding_conformance.h"
#include "tests/conformance/compute_halves_conformance.h"

namespace trainyard::conformance {

// cuBLASLt and the driver keep lists of what they are given.
constexpr long kOfDriver = 64;

// Page-locked: this process and the GPU both reach it.
std::shared_ptr<std::byte> locked(std::size_t bytes) {
  auto memory = (*cuda::module_beside_program())->allocate_on_host(static_cast<std::int64_t>(bytes));
  if (!memory) throw std::runtime_error(base::to_string(memory.error()));
  std::fill_n(memory->get(), bytes, std::byte{0});
  return *memory;
}

std::vector<Backend> backends() {
  std::vector<Backend> all;
  const auto found = cuda::gpus();
  if (!found) return all;
  allocate_values = locked;
  for (const cuda::Gpu& gpu : *found)
    all.push_back(
        {"gpu_" + std::to_string(gpu.number), [number = gpu.number] { return std::move(*(*cuda::module_beside_program())->make_compute(number)); }, kOfDriver});
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
