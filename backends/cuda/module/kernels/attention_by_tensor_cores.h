// SPDX-License-Identifier: GPL-3.0-or-later
// Selects attention by tensor cores where it is supported, and the kernels for its dtype and head
// width.
#pragma once

#include "backends/cuda/module/kernels/attention_backward.h"
#include "core/compute/half_precision.h"

namespace trainyard::cuda {

// True for 16-bit heads of the usual widths.
inline bool supports_tensor_cores(const Tensor& input, std::int64_t width) {
  return compute::is_half(input.dtype) && width % kStrip == 0 && width <= 128;
}

// Calls work<T, kWidth>() with the smallest kWidth that holds a head.
template <class T, class Work>
void with_width(std::int64_t width, const Work& work) {
  if (width <= 32) return work.template operator()<T, 32>();
  if (width <= 64) return work.template operator()<T, 64>();
  work.template operator()<T, 128>();
}
template <class Work>
void with_shape(DType dtype, std::int64_t width, const Work& work) {
  if (dtype == DType::bf16) with_width<Bf16>(width, work);
  else with_width<Fp16>(width, work);
}

inline Run by_tensor_cores(const compute::AttentionForward& op) {
  return [op, of = heads_of(op.input, op.heads, kStrip)](Stream& stream) {
    with_shape(op.input.dtype, of.width,
               [&]<class T, int kWidth>() { attend_with_tensor_cores<T, kWidth>(stream, op, of); });
  };
}

inline base::Result<Run> by_tensor_cores(Device& device, const compute::AttentionBackward& op) {
  const Heads of = heads_of(op.input, op.heads, kStrip);
  auto memory = device.allocate(op.input.shape[0] * op.heads * softmax_rows(of.rows) *
                                static_cast<std::int64_t>(sizeof(SoftmaxOfQuery)));
  if (!memory) return base::fail(memory.error());
  return Run([op, of, memory = *memory](Stream& stream) {
    auto* const all = reinterpret_cast<SoftmaxOfQuery*>(memory.get());
    with_shape(op.input.dtype, of.width, [&]<class T, int kWidth>() {
      differentiate_by_warps<T, kWidth>(stream, op, of, all);
    });
  });
}

}  // namespace trainyard::cuda
