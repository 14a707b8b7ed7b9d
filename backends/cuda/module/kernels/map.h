// SPDX-License-Identifier: GPL-3.0-or-later
// Elementwise kernels. If the alignment of all tensors allows it, a thread processes four adjacent
// elements, which it loads with one wide access.
#pragma once

#include <bit>

#include "backends/cuda/module/numbers.h"
#include "core/compute/half_precision.h"

namespace trainyard::cuda {

inline constexpr int kNeighbors = 4;

// Adjacent elements of a tensor, in the form in which the tensor stores them. W is as in numbers.h.
template <class W>
struct Vector4;

template <>
struct Vector4<double> {
  struct alignas(16) Pair {
    double value[2];
  };
  Pair pairs[2];

  static bool fit(const Tensor& tensor) {
    return tensor.dtype == DType::fp64 &&
           reinterpret_cast<std::uintptr_t>(tensor.data) % sizeof(Pair) == 0;
  }

  ON_DEVICE void load(const Tensor& tensor, std::int64_t at) {
    for (int p = 0; p < 2; ++p) pairs[p] = as<Pair>(tensor)[2 * at + p];
  }
  ON_DEVICE void store(const Tensor& tensor, std::int64_t at) const {
    for (int p = 0; p < 2; ++p) as<Pair>(tensor)[2 * at + p] = pairs[p];
  }
  ON_DEVICE double get(DType, int k) const { return pairs[k / 2].value[k % 2]; }
  ON_DEVICE void put(DType, int k, double value) { pairs[k / 2].value[k % 2] = value; }
};

template <>
struct Vector4<float> {
  struct alignas(16) Wide {
    std::uint32_t word[4];
  };
  struct alignas(8) Narrow {
    std::uint32_t word[2];
  };
  Wide packed;  // with 16 bits: two numbers in each of the first words, the first in the lower half

  static bool fit(const Tensor& tensor) {
    return reinterpret_cast<std::uintptr_t>(tensor.data) %
               (compute::is_half(tensor.dtype) ? sizeof(Narrow) : sizeof(Wide)) ==
           0;
  }
  ON_DEVICE void load(const Tensor& tensor, std::int64_t at) {
    if (!compute::is_half(tensor.dtype)) {
      packed = as<Wide>(tensor)[at];
      return;
    }
    const Narrow narrow = as<Narrow>(tensor)[at];
    packed = {{narrow.word[0], narrow.word[1], 0, 0}};
  }
  ON_DEVICE void store(const Tensor& tensor, std::int64_t at) const {
    if (compute::is_half(tensor.dtype)) as<Narrow>(tensor)[at] = {{packed.word[0], packed.word[1]}};
    else as<Wide>(tensor)[at] = packed;
  }
  ON_DEVICE float get(DType dtype, int k) const {
    using compute::compression::Bf16;
    using compute::compression::Fp16;
    if (!compute::is_half(dtype)) return std::bit_cast<float>(packed.word[k]);
    const auto half = static_cast<std::uint16_t>(packed.word[k / 2] >> (k % 2 * 16));
    return dtype == DType::bf16 ? Bf16::decode(half) : Fp16::decode(half);
  }
  // Stores number k of the vector. Must be called in the order of k.
  ON_DEVICE void put(DType dtype, int k, float value) {
    using compute::compression::Bf16;
    using compute::compression::Fp16;
    if (!compute::is_half(dtype)) {
      packed.word[k] = std::bit_cast<std::uint32_t>(value);
      return;
    }
    const std::uint32_t half = dtype == DType::bf16 ? Bf16::encode(value) : Fp16::encode(value);
    packed.word[k / 2] = k % 2 == 0 ? half : packed.word[k / 2] | half << 16;
  }
};

// Computes output(i) = work(i, one(i), other(i)). An empty `other` counts as 0. The output may
// alias either input.
template <class W, class Work>
void map(Stream& stream, const Tensor& output, const Tensor& one, const Tensor& other, Work work) {
  const std::int64_t count = output.elements();
  const bool fit =
      Vector4<W>::fit(output) && Vector4<W>::fit(one) && (other.empty() || Vector4<W>::fit(other));
  const std::int64_t together = fit ? count / kNeighbors : 0, first = together * kNeighbors;
  for_each(stream, together, [=] ON_DEVICE(std::int64_t at) {
    Vector4<W> ones{}, others{}, results{};
    ones.load(one, at);
    if (!other.empty()) others.load(other, at);
    for (int k = 0; k < kNeighbors; ++k)
      results.put(output.dtype, k,
                  work(at * kNeighbors + k, ones.get(one.dtype, k),
                       other.empty() ? W{0} : others.get(other.dtype, k)));
    results.store(output, at);
  });
  for_each(stream, count - first, [=] ON_DEVICE(std::int64_t rest) {
    const std::int64_t i = first + rest;
    put(output, i, work(i, get<W>(one, i), other.empty() ? W{0} : get<W>(other, i)));
  });
}

}  // namespace trainyard::cuda
