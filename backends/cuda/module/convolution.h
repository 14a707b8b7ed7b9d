// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>

#include "core/compute/ops.h"

namespace trainyard::cuda {

// One of the convolutions of ops.h, as libraries take them: the weight lies as images do. All
// tensors are of one dtype, fp32 or 16 bits, have elements, and begin at multiples of kAlignment.
// What is made is summed in fp32, and overwritten.
struct Convolution {
  static constexpr std::int64_t kAlignment = 16;  // bytes
  enum class Makes : std::uint8_t { output, input_gradient, weight_gradient };

  Makes makes = Makes::output;
  compute::Tensor input, weight,
      output;  // or the gradients there: [B,H,W,I], [O,K,K,I], [B,H',W',O]
  compute::Window window;
  // Of an output, rounded once after both.
  compute::Tensor bias = {};  // [O], or empty
  compute::Activation activation = compute::Activation::none;
  bool tf32 = false;  // of fp32: factors as tensor cores take them
};

}  // namespace trainyard::cuda
