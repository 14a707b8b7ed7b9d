// SPDX-License-Identifier: GPL-3.0-or-later
// Rounds factors to bfloat16. This file is compiled with -O3 (backends/CMakeLists.txt), so that the
// loop is vectorized.
#include "backends/cpu/bfloat16.h"

#include "backends/cpu/threads.h"
#include "core/compute/bfloat16.h"

namespace trainyard::cpu {
namespace {

// Alignment in bytes of the rounded copies, for vector loads.
constexpr std::size_t kAlignment = 64;

std::size_t half_bytes(const compute::Tensor& tensor) {
  return (static_cast<std::size_t>(tensor.bytes()) + kAlignment - 1) / kAlignment * kAlignment;
}

void round_to_bfloat16(const compute::Tensor& source, float* rounded, int cores) {
  const float* const values = source.as<float>();
  for_blocks(cores, source.elements(), kBlockElements,
             [&](std::int64_t begin, std::int64_t end, std::int64_t) {
               for (std::int64_t i = begin; i < end; ++i)
                 rounded[i] = compute::rounded_to_bfloat16(values[i]);
             });
}

}  // namespace

void Factors::add(const compute::Tensor& source, const dnnl::memory& memory) {
  if (!rounds_) return;
  factors_.emplace_back(source, memory);
  bytes_ += half_bytes(source);
}

void Factors::round(CpuQueue& queue) {
  if (!rounds_) return;
  std::byte* room = queue.factors(bytes_);
  for (auto& [source, memory] : factors_) {
    round_to_bfloat16(source, reinterpret_cast<float*>(room), cores_);
    dnnl_memory_set_data_handle(memory.get(), room);
    room += half_bytes(source);
  }
}

}  // namespace trainyard::cpu
