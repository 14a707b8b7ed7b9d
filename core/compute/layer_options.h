// SPDX-License-Identifier: GPL-3.0-or-later
// Options of ops that are also options of models and experiments: activations, windows, pooling,
// row norms, and the number format of matrix multiplications.
#pragma once

#include <cstdint>

namespace trainyard::compute {

enum class Activation : std::uint8_t { none, relu, tanh };

// Number format of the inputs of matrix multiplications, in linear layers and convolutions, in all
// three passes. Only for fp32 tensors. With `bfloat16` every input is rounded to bfloat16
// (bfloat16.h), as in the matrix unit of a TPU (Wang and Kanwar 2019); products and sums are fp32.
// The tensors themselves are not rounded, nor are values that are not multiplied: biases, and sums
// of their gradients. With `tf32` a device may use 11 significant bits of every input, with its own
// rounding, as tensor cores do (NVIDIA A100 whitepaper 2020). A device on which this is not faster
// uses all bits.
enum class Multiplies : std::uint8_t { full, bfloat16, tf32 };

// Square sliding window over an image, in pixels. The image is padded by `padding` on every side; H
// rows become `outputs(H)` rows. Inputs outside the image are 0, but a maximum ignores them.
struct Window {
  std::int64_t kernel = 1, stride = 1, padding = 0;

  constexpr std::int64_t outputs(std::int64_t inputs) const {
    return (inputs + 2 * padding - kernel) / stride + 1;
  }
  constexpr bool operator==(const Window&) const = default;
};

enum class Pooling : std::uint8_t { maximum, average };

// Statistics by which a row is normalized. `layer`: mean and variance (layer normalization, Ba,
// Kiros, Hinton 2016). `root_mean_square` (Zhang and Sennrich 2019): the mean is taken as 0, and
// there is no bias.
enum class RowNorm : std::uint8_t { layer, root_mean_square };

}  // namespace trainyard::compute
