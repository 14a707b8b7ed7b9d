// SPDX-License-Identifier: GPL-3.0-or-later
// Elements of tensors in the form in which kernels compute with them. W is float for fp32 and
// 16-bit tensors, and double for fp64. Values are rounded once when stored, to nearest, ties to
// even.
#pragma once

#include <cmath>
#include <cstring>
#include <type_traits>

#include "backends/cuda/module/launch.h"
#include "core/compute/bfloat16.h"
#include "core/compute/ops.h"

namespace trainyard::cuda {

using base::DType;
using compute::Activation;
using compute::Tensor;

template <class T>
ON_DEVICE T* as(const Tensor& tensor) {
  return reinterpret_cast<T*>(tensor.data);
}

// Loads a number from any address. Loads byte by byte only if the address is unaligned.
template <class T>
ON_DEVICE T load(const std::byte* from, std::int64_t i) {
  const std::byte* const place = from + i * static_cast<std::int64_t>(sizeof(T));
  if (reinterpret_cast<std::uintptr_t>(place) % alignof(T) == 0)
    return *reinterpret_cast<const T*>(place);
  T value;
  memcpy(&value, place, sizeof(T));
  return value;
}
template <class T>
ON_DEVICE void store(std::byte* to, std::int64_t i, T value) {
  std::byte* const place = to + i * static_cast<std::int64_t>(sizeof(T));
  if (reinterpret_cast<std::uintptr_t>(place) % alignof(T) == 0)
    *reinterpret_cast<T*>(place) = value;
  else memcpy(place, &value, sizeof(T));
}

template <class W>
ON_DEVICE W get(const Tensor& tensor, std::int64_t i) {
  using compute::compression::Bf16;
  using compute::compression::Fp16;
  switch (tensor.dtype) {
    case DType::fp64: return static_cast<W>(as<double>(tensor)[i]);
    case DType::bf16: return Bf16::decode(as<std::uint16_t>(tensor)[i]);
    case DType::fp16: return Fp16::decode(as<std::uint16_t>(tensor)[i]);
    default: return as<float>(tensor)[i];
  }
}

template <class W>
ON_DEVICE void put(const Tensor& tensor, std::int64_t i, W value) {
  using compute::compression::Bf16;
  using compute::compression::Fp16;
  switch (tensor.dtype) {
    case DType::fp64: as<double>(tensor)[i] = value; return;
    case DType::bf16:
      as<std::uint16_t>(tensor)[i] = Bf16::encode(static_cast<float>(value));
      return;
    case DType::fp16:
      as<std::uint16_t>(tensor)[i] = Fp16::encode(static_cast<float>(value));
      return;
    default: as<float>(tensor)[i] = static_cast<float>(value);
  }
}

// Calls body(tensor) with a tensor that has a compile-time dtype, so that a loop over many elements
// checks the dtype only once.
template <class W, class Body>
ON_DEVICE void with_static_dtype(const Tensor& tensor, const Body& body) {
  const auto as_one = [&](DType dtype) { return Tensor{dtype, tensor.shape, tensor.data}; };
  if constexpr (std::is_same_v<W, float>) {
    if (tensor.dtype == DType::bf16) return body(as_one(DType::bf16));
    if (tensor.dtype == DType::fp16) return body(as_one(DType::fp16));
    body(as_one(DType::fp32));
  } else {
    body(as_one(DType::fp64));
  }
}

// Calls use(c, element c) for `count` elements from `first` on, which the threads of a team divide.
// Loads several elements before it uses them.
template <class W, class Use>
ON_DEVICE void for_row(const Team& team, const Tensor& tensor, std::int64_t first,
                       std::int64_t count, const Use& use) {
  constexpr int ahead = 4;
  with_static_dtype<W>(tensor, [&](const Tensor& known) {
    std::int64_t c = team.rank;
    for (; c + (ahead - 1) * team.size < count; c += ahead * team.size) {
      W some[ahead];
      for (int a = 0; a < ahead; ++a) some[a] = get<W>(known, first + c + a * team.size);
      for (int a = 0; a < ahead; ++a) use(c + a * team.size, some[a]);
    }
    for (; c < count; c += team.size) use(c, get<W>(known, first + c));
  });
}

template <class W>
ON_DEVICE W activate(Activation activation, W value) {
  if (activation == Activation::relu) return value > 0 ? value : W{0};
  if (activation == Activation::tanh) return std::tanh(value);
  return value;
}

// Returns the derivative of the activation, computed from its output.
template <class W>
ON_DEVICE W slope(Activation activation, W output) {
  if (activation == Activation::relu) return output > 0 ? W{1} : W{0};
  if (activation == Activation::tanh) return 1 - output * output;
  return 1;
}

ON_DEVICE constexpr std::int64_t channels_of(const Tensor& tensor) {
  return tensor.shape[tensor.shape.dimensions - 1];
}
constexpr std::int64_t parts(std::int64_t whole, std::int64_t part) {
  return (whole + part - 1) / part;
}  // number of parts; the last may be shorter

}  // namespace trainyard::cuda
