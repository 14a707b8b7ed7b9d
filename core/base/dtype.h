// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/names.h"

namespace trainyard::base {

// Data types. fp16 (IEEE 754 binary16) and bf16 are for communication and activations, `byte` only
// for communication. Sums of 16-bit numbers are accumulated in fp32.
enum class DType : std::uint8_t { fp32, fp64, int32, fp16, bf16, byte };

constexpr std::int64_t size_of(DType dtype) {
  switch (dtype) {
    case DType::fp64: return 8;
    case DType::fp16:
    case DType::bf16: return 2;
    case DType::byte: return 1;
    default: return 4;
  }
}

template <>
struct Names<DType> {
  static constexpr std::pair<DType, std::string_view> table[] = {
      {DType::fp32, "fp32"}, {DType::fp64, "fp64"}, {DType::int32, "int32"},
      {DType::fp16, "fp16"}, {DType::bf16, "bf16"}, {DType::byte, "byte"}};
};

}  // namespace trainyard::base
