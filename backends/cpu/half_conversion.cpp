// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cpu/half_conversion.h"

#include <algorithm>
#include <oneapi/dnnl/dnnl.hpp>
#include <utility>

#include "backends/cpu/kernels.h"
#include "backends/cpu/threads.h"

namespace trainyard::cpu {
namespace {

class InSlices final : public compute::Kernel {
 public:
  InSlices(HalfSlice each, std::int64_t count, HalfSlice rest, int cores,
           std::shared_ptr<WideningScratch> memory)
      : each_(std::move(each)),
        rest_(std::move(rest)),
        count_(count),
        cores_(cores),
        memory_(std::move(memory)) {}

  void enqueue(compute::Queue& queue) override {
    for (std::int64_t slice = 0; slice < count_; ++slice) run(each_, slice, queue);
    if (rest_.kernel) run(rest_, count_, queue);
  }

 private:
  // Runs the op on the slice of rows with index `slice`: converts its inputs to fp32, and its
  // results back. All earlier slices have as many elements as a slice of `each_`.
  void run(HalfSlice& part, std::int64_t slice, compute::Queue& queue) const {
    const auto halves = [&](std::size_t i) {
      return part.passing[i].half.data + slice * each_.passing[i].half.bytes();
    };
    for (std::size_t i = 0; i < part.passing.size(); ++i)
      if (const compute::Passing& one = part.passing[i]; one.use.read)
        widen(one.half.dtype, halves(i), one.wide, one.half.elements(), cores_);
    part.kernel->enqueue(queue);
    for (std::size_t i = 0; i < part.passing.size(); ++i)
      if (const compute::Passing& one = part.passing[i]; one.use.written)
        round(one.half.dtype, one.wide, halves(i), one.half.elements(), cores_);
  }

  HalfSlice each_, rest_;
  std::int64_t count_;
  int cores_;
  std::shared_ptr<WideningScratch> memory_;
};

}  // namespace

std::unique_ptr<compute::Kernel> in_slices(HalfSlice each, std::int64_t count, HalfSlice rest,
                                           int cores, std::shared_ptr<WideningScratch> memory) {
  return std::make_unique<InSlices>(std::move(each), count, std::move(rest), cores,
                                    std::move(memory));
}

bool multiplies_bfloat16() {
  constexpr auto kWanted = static_cast<int>(dnnl::cpu_isa::avx512_core_bf16);
  return (static_cast<int>(dnnl::get_effective_cpu_isa()) & kWanted) == kWanted;
}

void widen(compute::DType from, const std::byte* halves, float* values, std::int64_t elements,
           int cores) {
  const HalfKernels& loops = half_kernels();
  const auto loop = from == compute::DType::bf16 ? loops.widen_bf16 : loops.widen_fp16;
  const auto* const source = reinterpret_cast<const std::uint16_t*>(halves);
  for_blocks(cores, elements, kBlockElements,
             [&](std::int64_t begin, std::int64_t end, std::int64_t) {
               loop(source, values, begin, end);
             });
}

void round(compute::DType to, const float* values, std::byte* halves, std::int64_t elements,
           int cores) {
  const HalfKernels& loops = half_kernels();
  const auto loop = to == compute::DType::bf16 ? loops.round_bf16 : loops.round_fp16;
  auto* const result = reinterpret_cast<std::uint16_t*>(halves);
  for_blocks(cores, elements, kBlockElements,
             [&](std::int64_t begin, std::int64_t end, std::int64_t) {
               loop(values, result, begin, end);
             });
}

float* WideningScratch::scratch_floats(std::size_t number, std::int64_t elements) {
  if (blocks_.size() <= number) blocks_.resize(number + 1);
  std::vector<Block>& known = blocks_[number];
  if (known.empty() || known.back().elements < elements) {
    const std::int64_t room =
        known.empty() ? elements : std::max(elements, 2 * known.back().elements);
    known.push_back({room, std::make_unique<float[]>(static_cast<std::size_t>(room))});
  }
  return known.back().memory.get();
}

}  // namespace trainyard::cpu
