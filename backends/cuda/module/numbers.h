// SPDX-License-Identifier: GPL-3.0-or-later
// Elements of tensors, as a kernel computes with them: W is float for tensors of fp32 and of 16 bits, double for those of fp64. What is stored is rounded once,
// to nearest and even.
#pragma once

#include <cmath>
#include <cstring>

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

// At any address.
template <class T>
ON_DEVICE T load(const std::byte* from, std::int64_t i) {
  T value;
  memcpy(&value, from + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}
template <class T>
ON_DEVICE void store(std::byte* to, std::int64_t i, T value) {
  memcpy(to + i * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
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
    case DType::bf16: as<std::uint16_t>(tensor)[i] = Bf16::encode(static_cast<float>(value)); return;
    case DType::fp16: as<std::uint16_t>(tensor)[i] = Fp16::encode(static_cast<float>(value)); return;
    default: as<float>(tensor)[i] = static_cast<float>(value);
  }
}

template <class W>
ON_DEVICE W activate(Activation activation, W value) {
  if (activation == Activation::relu) return value > 0 ? value : W{0};
  if (activation == Activation::tanh) return std::tanh(value);
  return value;
}

// The derivative, from the activation's output.
template <class W>
ON_DEVICE W slope(Activation activation, W output) {
  if (activation == Activation::relu) return output > 0 ? W{1} : W{0};
  if (activation == Activation::tanh) return 1 - output * output;
  return 1;
}

ON_DEVICE constexpr std::int64_t channels_of(const Tensor& tensor) { return tensor.shape[tensor.shape.dimensions - 1]; }
constexpr std::int64_t parts(std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; }  // how many, the last may be shorter

}  // namespace trainyard::cuda
