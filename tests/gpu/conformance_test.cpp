// SPDX-License-Identifier: GPL-3.0-or-later
// Requirements on every Compute, tested on each GPU of this machine. Without a GPU, prints why
// nothing is tested.
#include <bit>
#include <map>

#include "tests/conformance/compute_attention_conformance.h"
#include "tests/conformance/compute_chain_conformance.h"
#include "tests/conformance/compute_compression_conformance.h"
#include "tests/conformance/compute_embedding_conformance.h"
#include "tests/conformance/compute_row_conformance.h"
#include "tests/gpu/gpus.h"

namespace trainyard::conformance {

// cuBLASLt and the driver keep lists of what they are given.
constexpr long kOfDriver = 64;

// Every GPU reaches what one of them has allocated. To lock pages takes long, and there are some
// ten thousand values: so these share blocks, which stay.
compute::Memory allocated(std::size_t bytes) {
  constexpr std::size_t kLeast = 256, kBlock = std::size_t{4} << 20;
  static const auto gpu = tests::gpu(0);
  static auto& blocks = *new std::vector<compute::Memory>;
  static auto& idle = *new std::map<std::size_t, std::vector<std::byte*>>;  // by size
  const std::size_t size = std::bit_ceil(std::max(bytes, kLeast));
  std::vector<std::byte*>& of_size = idle[size];
  if (of_size.empty()) {
    const std::size_t block = std::max(size, kBlock);
    blocks.push_back(gpu->allocate_host_visible(static_cast<std::int64_t>(block), "test").value());
    for (std::size_t first = 0; first < block; first += size)
      of_size.push_back(blocks.back().get() + first);
  }
  std::byte* const one = of_size.back();
  of_size.pop_back();
  std::fill_n(one, bytes, std::byte{});
  return {one, [&of_size](std::byte* gone) { of_size.push_back(gone); }};
}

std::vector<Backend> backends() {
  std::vector<Backend> all;
  const std::vector<int> numbers = tests::gpu_numbers();
  if (!numbers.empty()) allocate_values = allocated;
  for (const int number : numbers)
    all.push_back(
        {"gpu_" + std::to_string(number), [number] { return tests::gpu(number); }, kOfDriver});
  return all;
}

TEST(Gpu, is_present_or_the_reason_is_reported) {
  const auto found = cuda::gpus();
  if (!found) GTEST_SKIP() << base::to_string(found.error());
  EXPECT_EQ(backends().size(), found->size());
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ComputeConformance);
INSTANTIATE_TEST_SUITE_P(gpu, ComputeConformance, testing::ValuesIn(backends()));

}  // namespace trainyard::conformance
