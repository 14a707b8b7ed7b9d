// SPDX-License-Identifier: GPL-3.0-or-later
// Options of ops that models and experiments name too: activations, windows, pooling, row norms and
// the format of factors.
#pragma once

#include <cstdint>

namespace trainyard::compute {

enum class Activation : std::uint8_t { none, relu, tanh };

// Format of the factors of products (linear layers and convolutions, in all three passes).
// `bfloat16`, as the matrix unit of a TPU (Wang and Kanwar 2019): every factor is rounded to
// bfloat16 (bfloat16.h); products and sums stay fp32. Only for fp32 tensors. The tensors themselves
// are not rounded, nor are values that are not multiplied: biases, and sums of their gradients.
// `tf32`, also for fp32 tensors: a device may use 11 significant bits of every factor, as tensor
// cores do (NVIDIA A100 whitepaper 2020), with device-specific rounding; a device without such an
// advantage uses all bits.
enum class Multiplies : std::uint8_t { full, bfloat16, tf32 };

// Square sliding window of an image, in pixels. The image is padded by `padding` on every side; H
// rows result in `outputs(H)` rows. Outside the image an input is 0, but never a maximum.
struct Window {
  std::int64_t kernel = 1, stride = 1, padding = 0;

  constexpr std::int64_t outputs(std::int64_t inputs) const {
    return (inputs + 2 * padding - kernel) / stride + 1;
  }
  constexpr bool operator==(const Window&) const = default;
};

enum class Pooling : std::uint8_t { maximum, average };

// Statistics by which a row is normalized: mean and variance (layer normalization, Ba, Kiros,
// Hinton 2016), or its root mean square (Zhang and Sennrich 2019), where the mean is taken as 0 and
// there is no bias.
enum class RowNorm : std::uint8_t { layer, root_mean_square };

}  // namespace trainyard::compute
