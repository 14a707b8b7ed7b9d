// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>

#include "core/compute/ops.h"

namespace trainyard::cuda {

// One of the convolutions of ops.h, in the layout of libraries: the weight is channels last, like
// images. All tensors have one dtype, fp32 or 16 bits. They are not empty, and begin at multiples
// of kAlignment. Sums are in fp32. The result overwrites the destination.
struct Convolution {
  static constexpr std::int64_t kAlignment = 16;  // in bytes
  enum class Target : std::uint8_t { output, input_gradient, weight_gradient };

  Target target = Target::output;
  compute::Tensor input, weight,
      output;  // [B,H,W,I], [O,K,K,I], [B,H',W',O], or the gradients of these
  compute::Window window;
  // Bias and activation are applied to an output, which is rounded once after both.
  compute::Tensor bias = {};  // [O], or empty
  compute::Activation activation = compute::Activation::none;
  bool tf32 = false;  // for fp32: rounds inputs to TF32 for tensor cores
};

}  // namespace trainyard::cuda
