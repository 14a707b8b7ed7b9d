// SPDX-License-Identifier: GPL-3.0-or-later
// Gradient compression schemes, that is, encodings of a gradient of n numbers. There are two
// families. Summable encodings are all-reduced by any algorithm, in the wire dtype. Other encodings
// are all-gathered, and every rank adds those of all ranks, in the order of ranks. In both cases
// all ranks decode the same bytes, so their parameters stay bit-identical. The size of an encoding
// depends only on n, never on values.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/base/dtype.h"
#include "core/base/field_table.h"

namespace trainyard::compute::compression {

enum class Scheme : std::uint8_t {
  none,
  fp16,  // Summable: IEEE 754 binary16, each addition in fp32 and rounded again.
  bf16,  // Summable: bfloat16, with additions as for fp16.
  int8,  // Gathered: one byte per number, and a scale per 1024 numbers.
  // Gathered: one bit per number, and one scale, the mean magnitude (Karimireddy et al. 2019).
  sign,
  top_k,     // Gathered: the k numbers of greatest magnitude and their indices (Stich et al. 2018).
  random_k,  // Summable: k numbers at random indices, identical on all ranks; not scaled.
  // Summable: product of two thin matrices (Vogels et al. 2019, algorithm 1, warm start).
  power_sgd,
};

struct CompressionSpec {
  Scheme kind = Scheme::none;
  double fraction = 0.01;      // Fraction of the gradient that top_k and random_k send.
  std::int64_t rank = 4;       // power_sgd: columns of the thin matrices.
  bool error_feedback = true;  // If true, the error is added to the gradient of the next step.

  bool operator==(const CompressionSpec&) const = default;
};

constexpr bool gathers(Scheme kind) {
  return kind == Scheme::int8 || kind == Scheme::sign || kind == Scheme::top_k;
}
constexpr bool keeps_part(Scheme kind) { return kind == Scheme::top_k || kind == Scheme::random_k; }
constexpr bool may_feed_back(Scheme kind) {
  return gathers(kind) || kind == Scheme::random_k || kind == Scheme::power_sgd;
}
// True if a rank keeps a residual (error feedback).
constexpr bool feeds_back(const CompressionSpec& spec) {
  return may_feed_back(spec.kind) && spec.error_feedback;
}

// Dtype of the payload.
constexpr base::DType wire_dtype(Scheme kind) {
  if (kind == Scheme::fp16) return base::DType::fp16;
  if (kind == Scheme::bf16) return base::DType::bf16;
  return gathers(kind) ? base::DType::byte : base::DType::fp32;
}

// Returns k, the number of sent numbers: `fraction` of `elements`, rounded, but at least 1 (0 if
// there are no elements).
inline std::int64_t kept(const CompressionSpec& spec, std::int64_t elements) {
  return std::clamp<std::int64_t>(std::llround(spec.fraction * static_cast<double>(elements)),
                                  std::min<std::int64_t>(1, elements), elements);
}

inline constexpr std::int64_t kScaled = 1024;  // int8: numbers that share a scale.
constexpr std::int64_t scales_of(std::int64_t elements) {
  return (elements + kScaled - 1) / kScaled;
}

// Returns the length of one rank's encoding, in numbers of `wire_dtype`. Not for power_sgd, whose
// length depends on the shapes of matrices (power_sgd_layout.h).
inline std::int64_t encoded_elements(const CompressionSpec& spec, std::int64_t elements) {
  switch (spec.kind) {
    case Scheme::int8: return 4 * scales_of(elements) + elements;
    case Scheme::sign: return elements > 0 ? 4 + (elements + 7) / 8 : 0;
    case Scheme::top_k: return 8 * kept(spec, elements);
    case Scheme::random_k: return kept(spec, elements);
    default: return elements;
  }
}

}  // namespace trainyard::compute::compression

template <>
struct trainyard::base::Names<trainyard::compute::compression::Scheme> {
  using S = trainyard::compute::compression::Scheme;
  static constexpr std::pair<S, std::string_view> table[] = {
      {S::none, "none"},         {S::fp16, "fp16"},          {S::bf16, "bf16"},
      {S::int8, "int8"},         {S::sign, "sign"},          {S::top_k, "top_k"},
      {S::random_k, "random_k"}, {S::power_sgd, "power_sgd"}};
};

template <>
struct trainyard::base::Fields<trainyard::compute::compression::CompressionSpec> {
  using S = trainyard::compute::compression::CompressionSpec;
  using Scheme = trainyard::compute::compression::Scheme;
  static constexpr std::string_view title = "Gradient compression";
  static auto table() {
    return std::tuple{
        field("kind", &S::kind, "", {},
              "Compression scheme; none: uncompressed; fp16, bf16: 16 bits per number; int8: 8 "
              "bits with a scale per block; sign: 1 bit; top_k: the largest numbers; random_k: "
              "numbers at random indices; power_sgd: low-rank factors. int8, sign and top_k are "
              "all-gathered (ring or direct), the others all-reduced by any algorithm"),
        field("fraction", &S::fraction, "", {1e-6, 1},
              "Fraction of the gradient that is sent; at least one number per bucket",
              [](const S& s) { return trainyard::compute::compression::keeps_part(s.kind); }),
        field("rank", &S::rank, "", {1, 256},
              "Rank of the approximation: columns of the two factors that replace a matrix",
              [](const S& s) { return s.kind == Scheme::power_sgd; }),
        field("error_feedback", &S::error_feedback, "", {},
              "Error feedback: add the compression error to the gradient of the next step",
              [](const S& s) { return trainyard::compute::compression::may_feed_back(s.kind); })};
  }
};
