// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cpu/halves.h"

#include <algorithm>
#include <oneapi/dnnl/dnnl.hpp>

#include "backends/cpu/kernels.h"
#include "backends/cpu/threads.h"

namespace trainyard::cpu {

bool multiplies_bfloat16() {
  constexpr auto kWanted = static_cast<int>(dnnl::cpu_isa::avx512_core_bf16);
  return (static_cast<int>(dnnl::get_effective_cpu_isa()) & kWanted) == kWanted;
}

void widen(compute::DType from, const std::byte* halves, float* values, std::int64_t elements, int cores) {
  const HalfKernels& loops = half_kernels();
  const auto loop = from == compute::DType::bf16 ? loops.widen_bf16 : loops.widen_fp16;
  const auto* const source = reinterpret_cast<const std::uint16_t*>(halves);
  for_blocks(cores, elements, kBlockElements, [&](std::int64_t begin, std::int64_t end, std::int64_t) { loop(source, values, begin, end); });
}

void round(compute::DType to, const float* values, std::byte* halves, std::int64_t elements, int cores) {
  const HalfKernels& loops = half_kernels();
  const auto loop = to == compute::DType::bf16 ? loops.round_bf16 : loops.round_fp16;
  auto* const result = reinterpret_cast<std::uint16_t*>(halves);
  for_blocks(cores, elements, kBlockElements, [&](std::int64_t begin, std::int64_t end, std::int64_t) { loop(values, result, begin, end); });
}

float* Widened::lend(std::size_t number, std::int64_t elements) {
  if (blocks_.size() <= number) blocks_.resize(number + 1);
  std::vector<Block>& known = blocks_[number];
  if (known.empty() || known.back().elements < elements) {
    const std::int64_t room = known.empty() ? elements : std::max(elements, 2 * known.back().elements);
    known.push_back({room, std::make_unique<float[]>(static_cast<std::size_t>(room))});
  }
  return known.back().memory.get();
}

}  // namespace trainyard::cpu
