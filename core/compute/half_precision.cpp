// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/compute/half_precision.h"

#include "core/compute/compression/half.h"

namespace trainyard::compute {
namespace {

using compression::Bf16;
using compression::Fp16;

template <class Half>
void widen_all(const std::byte* halves, float* values, std::int64_t elements) {
  const auto* const from = reinterpret_cast<const std::uint16_t*>(halves);
  for (std::int64_t i = 0; i < elements; ++i) values[i] = Half::decode(from[i]);
}

template <class Half>
void round_all(const float* values, std::byte* halves, std::int64_t elements) {
  auto* const to = reinterpret_cast<std::uint16_t*>(halves);
  for (std::int64_t i = 0; i < elements; ++i) to[i] = Half::encode(values[i]);
}

}  // namespace

void widen(DType from, const std::byte* halves, float* values, std::int64_t elements) {
  from == DType::bf16 ? widen_all<Bf16>(halves, values, elements)
                      : widen_all<Fp16>(halves, values, elements);
}

void round(DType to, const float* values, std::byte* halves, std::int64_t elements) {
  to == DType::bf16 ? round_all<Bf16>(values, halves, elements)
                    : round_all<Fp16>(values, halves, elements);
}

}  // namespace trainyard::compute
