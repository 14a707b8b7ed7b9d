// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/compute/numbers.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "core/compute/compression/half.h"

namespace trainyard::compute {
namespace {

using base::DType;
using compression::Bf16;
using compression::Fp16;

template <class T>
T load(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

double in_fp64(double a, double b) { return a + b; }
double in_fp32(double a, double b) {
  return static_cast<double>(static_cast<float>(a) + static_cast<float>(b));
}

double in_int32(double a, double b) {
  const auto sum = static_cast<std::uint32_t>(static_cast<std::int32_t>(a)) +
                   static_cast<std::uint32_t>(static_cast<std::int32_t>(b));
  return static_cast<double>(static_cast<std::int32_t>(sum));
}

// Adds two 16-bit numbers in fp32, and rounds the sum to 16 bits.
template <class Half>
double in_half(double a, double b) {
  return static_cast<double>(
      Half::decode(Half::encode(static_cast<float>(a) + static_cast<float>(b))));
}

}  // namespace

double number_at(DType dtype, const std::byte* bytes) {
  switch (dtype) {
    case DType::fp32: return static_cast<double>(load<float>(bytes));
    case DType::fp64: return load<double>(bytes);
    case DType::int32: return static_cast<double>(load<std::int32_t>(bytes));
    case DType::fp16: return static_cast<double>(Fp16::decode(load<std::uint16_t>(bytes)));
    case DType::bf16: return static_cast<double>(Bf16::decode(load<std::uint16_t>(bytes)));
    case DType::byte: return static_cast<double>(load<std::uint8_t>(bytes));
  }
  return 0;
}

Adding adding_in(DType dtype) {
  switch (dtype) {
    case DType::fp32: return in_fp32;
    case DType::fp64: return in_fp64;
    case DType::int32: return in_int32;
    case DType::fp16: return in_half<Fp16>;
    case DType::bf16: return in_half<Bf16>;
    case DType::byte: return nullptr;
  }
  return nullptr;
}

bool same_number(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

}  // namespace trainyard::compute
