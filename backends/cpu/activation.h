// SPDX-License-Identifier: GPL-3.0-or-later
// Activation functions applied after an op. oneDNN fuses them into the op where it can; otherwise
// these loops apply them.
#pragma once

#include <cmath>

#include "backends/cpu/kernels.h"
#include "backends/cpu/primitive.h"
#include "core/compute/ops.h"

namespace trainyard::cpu {

inline dnnl::primitive_attr with_activation(compute::Activation activation) {
  dnnl::primitive_attr attributes = user_scratchpad();
  dnnl::post_ops after;
  if (activation == compute::Activation::relu)
    after.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
  if (activation == compute::Activation::tanh)
    after.append_eltwise(1, dnnl::algorithm::eltwise_tanh, 0, 0);
  attributes.set_post_ops(after);
  return attributes;
}

// Applies the activation to the output of an op in place, while the output is still in cache.
template <class T>
void activate(compute::Activation activation, T* values, std::int64_t elements) {
  if (activation == compute::Activation::relu) kernels<T>().relu(values, 0, elements);
  if (activation == compute::Activation::tanh)
    for (std::int64_t i = 0; i < elements; ++i) values[i] = std::tanh(values[i]);
}

}  // namespace trainyard::cpu
