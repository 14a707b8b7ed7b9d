// SPDX-License-Identifier: GPL-3.0-or-later
// The schemes bit for bit: the blocks and vectors of the kernels against the formulas written one
// number at a time, as they were first.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "core/base/random.h"
#include "core/compute/compression/half.h"
#include "core/compute/compression/power_sgd.h"
#include "core/compute/compression/scheme.h"
#include "core/compute/reference/reference.h"
#include "tests/core/compute/compression_ops.h"

namespace trainyard::compute::compression {
namespace {

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }
std::uint32_t magnitude_of(float value) { return bits_of(value) & 0x7FFFFFFFu; }

// An addition may return any NaN.
bool same(float a, float b) { return bits_of(a) == bits_of(b) || (std::isnan(a) && std::isnan(b)); }

std::uint16_t plain_fp16(float value) {
  const std::uint32_t sign = (bits_of(value) >> 16) & 0x8000u, magnitude = magnitude_of(value);
  if (magnitude > 0x7F800000u) return static_cast<std::uint16_t>(sign | 0x7E00u);
  if (magnitude >= 0x477FF000u) return static_cast<std::uint16_t>(sign | 0x7C00u);
  if (magnitude < 0x38800000u)
    return static_cast<std::uint16_t>(
        sign | (bits_of(std::bit_cast<float>(magnitude) + 0.5F) - 0x3F000000u));
  return static_cast<std::uint16_t>(
      sign | ((magnitude - 0x38000000u + 0xFFFu + ((magnitude >> 13) & 1u)) >> 13));
}

float plain_from_fp16(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16, magnitude = half & 0x7FFFu;
  if (magnitude >= 0x7C00u)
    return std::bit_cast<float>(sign | 0x7F800000u | ((magnitude & 0x3FFu) << 13));
  if (magnitude < 0x0400u)
    return std::bit_cast<float>(sign | bits_of(static_cast<float>(magnitude) * 0x1p-24F));
  return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
}

std::uint16_t plain_bf16(float value) {
  if (magnitude_of(value) > 0x7F800000u)
    return static_cast<std::uint16_t>((bits_of(value) >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits_of(value) + 0x7FFFu + ((bits_of(value) >> 16) & 1u)) >>
                                    16);
}

float plain_from_bf16(std::uint16_t half) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
}

TEST(HalfBits, every_half_is_decoded_as_by_the_plain_formula) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    ASSERT_EQ(bits_of(Fp16::decode(half)), bits_of(plain_from_fp16(half))) << bits;
    ASSERT_EQ(bits_of(Bf16::decode(half)), bits_of(plain_from_bf16(half))) << bits;
  }
}

// Every upper half of an fp32, with lower halves at and beside all places where either rounding
// turns.
TEST(HalfBits, fp32_near_a_rounding_boundary_is_encoded_as_by_the_plain_formula) {
  const std::uint32_t lower[] = {0,      1,      0xFFF,  0x1000, 0x1001, 0x1FFF, 0x2000,
                                 0x2FFF, 0x3000, 0x3001, 0x4FFF, 0x5000, 0x7FFF, 0x8000,
                                 0x8001, 0xEFFF, 0xF000, 0xF001, 0xFFFF};
  for (std::uint32_t upper = 0; upper < 0x10000; ++upper)
    for (const std::uint32_t low : lower) {
      const auto value = std::bit_cast<float>((upper << 16) | low);
      ASSERT_EQ(Fp16::encode(value), plain_fp16(value)) << bits_of(value);
      ASSERT_EQ(Bf16::encode(value), plain_bf16(value)) << bits_of(value);
    }
}

// Between any two neighbors, subnormal ones too, the middle and what lies beside it.
TEST(HalfBits, fp32_near_the_middle_of_two_halves_is_encoded_as_by_the_plain_formula) {
  for (std::uint16_t half = 0; half < 0x7C00; ++half) {
    const float middle =
        (plain_from_fp16(half) +
         (half == 0x7BFF ? 65536.0F : plain_from_fp16(static_cast<std::uint16_t>(half + 1)))) /
        2;
    for (const float value : {std::nextafter(middle, 0.0F), middle, std::nextafter(middle, kInf)}) {
      ASSERT_EQ(Fp16::encode(value), plain_fp16(value)) << value;
      ASSERT_EQ(Fp16::encode(-value), plain_fp16(-value)) << value;
    }
  }
}

// Data and residual of a scheme that compresses each number separately.
struct Plain {
  std::vector<float> residual;  // empty: without feedback
  std::vector<float> whole;
  std::vector<std::byte> encoded;
  double squared_error = 0;

  template <class T>
  void put(std::size_t byte, T value) {
    std::memcpy(encoded.data() + byte, &value, sizeof value);
  }
  void sent(std::size_t i, float value) {
    const float left = whole[i] - value;
    squared_error += static_cast<double>(left) * static_cast<double>(left);
    if (!residual.empty()) residual[i] = std::isfinite(left) ? left : 0;
  }
  void left(std::size_t i) {
    squared_error += static_cast<double>(whole[i]) * static_cast<double>(whole[i]);
  }
};

template <class Encode, class Decode>
void plain_cast(Plain& p, const Encode& encode, const Decode& decode) {
  for (std::size_t i = 0; i < p.whole.size(); ++i) {
    p.put(2 * i, encode(p.whole[i]));
    p.sent(i, decode(encode(p.whole[i])));
  }
}

void plain_int8(Plain& p) {
  const std::size_t n = p.whole.size(), scales = (n + 1023) / 1024;
  for (std::size_t begin = 0; begin < n; begin += 1024) {
    const std::size_t end = std::min(begin + 1024, n);
    std::uint32_t greatest = 0;
    for (std::size_t i = begin; i < end; ++i)
      greatest = std::max(greatest, magnitude_of(p.whole[i]));
    const float scale = greatest < 0x7F800000u ? std::bit_cast<float>(greatest) / 127 : kNaN;
    p.put(begin / 1024 * 4, scale);
    for (std::size_t i = begin; i < end; ++i) {
      const auto q = static_cast<std::int8_t>(
          scale > 0 ? std::clamp(std::nearbyintf(p.whole[i] / scale), -127.0F, 127.0F) : 0.0F);
      p.put(4 * scales + i, q);
      p.sent(i, static_cast<float>(q) * scale);
    }
  }
}

void plain_sign(Plain& p) {
  double sum = 0;
  for (const float value : p.whole) sum += std::fabs(static_cast<double>(value));
  const auto scale = static_cast<float>(sum / static_cast<double>(p.whole.size()));
  p.put(0, scale);
  for (std::size_t i = 0; i < p.whole.size(); ++i) {
    if (std::signbit(p.whole[i])) p.encoded[4 + i / 8] |= static_cast<std::byte>(1u << (i % 8));
    p.sent(i, std::signbit(p.whole[i]) ? -scale : scale);
  }
}

void plain_top_k(Plain& p, std::size_t k) {
  std::vector<std::int32_t> places(p.whole.size());
  std::iota(places.begin(), places.end(), 0);
  const auto at = [&](std::int32_t place) {
    return magnitude_of(p.whole[static_cast<std::size_t>(place)]);
  };
  std::stable_sort(places.begin(), places.end(),
                   [&](std::int32_t a, std::int32_t b) { return at(a) > at(b); });
  std::sort(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(k));
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto place = static_cast<std::size_t>(places[i]);
    if (i >= k) {
      p.left(place);
      continue;
    }
    p.put(4 * i, places[i]);
    p.put(4 * (k + i), p.whole[place]);
    p.sent(place, p.whole[place]);
  }
}

void encode_plainly(Plain& p, const CompressionSpec& spec) {
  if (spec.kind == Scheme::fp16) plain_cast(p, plain_fp16, plain_from_fp16);
  if (spec.kind == Scheme::bf16) plain_cast(p, plain_bf16, plain_from_bf16);
  if (spec.kind == Scheme::int8) plain_int8(p);
  if (spec.kind == Scheme::sign) plain_sign(p);
  if (spec.kind == Scheme::top_k)
    plain_top_k(p, static_cast<std::size_t>(kept(spec, std::ssize(p.whole))));
}

std::vector<float> gradient_of(std::size_t elements, std::uint64_t seed) {
  const base::Random random(seed, base::Purpose::generate, 0);
  const int kind = static_cast<int>(seed % 4);
  std::vector<float> values(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    if (kind == 0)
      values[i] = static_cast<float>(random.normal(i) *
                                     std::pow(10.0, random.uniform(elements + i, -6, 1)));
    if (kind == 1)
      values[i] = static_cast<float>(
          static_cast<int>(random.uniform(i, -3, 4)));  // many of equal magnitude
    if (kind == 2)
      values[i] = std::bit_cast<float>(
          static_cast<std::uint32_t>(random.bits(i)));  // anything, NaN and Inf too
    if (kind == 3)
      values[i] = static_cast<float>(static_cast<int>(random.uniform(i, -300, 300))) *
                  0x1p-149F;  // subnormal
  }
  return values;
}

Tensor fp64(double& value) { return {DType::fp64, {1}, reinterpret_cast<std::byte*>(&value)}; }

bool nan_or_near(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || a == b || std::fabs(a - b) <= 1e-12 * std::fabs(b);
}

// Bytes, but of floats that are NaN only that they are.
bool same_encoded(const std::vector<std::byte>& a, const std::vector<std::byte>& b,
                  std::size_t floats_from, std::size_t floats) {
  for (std::size_t i = 0; i < a.size(); i += 4) {
    float one = 0, other = 0;
    const std::size_t length = std::min<std::size_t>(4, a.size() - i);
    std::memcpy(&one, a.data() + i, length), std::memcpy(&other, b.data() + i, length);
    const bool is_float = i / 4 >= floats_from && i / 4 < floats_from + floats;
    if (is_float ? !same(one, other) : bits_of(one) != bits_of(other)) return false;
  }
  return true;
}

// Indices of the floats among the 32-bit words of the message.
std::pair<std::size_t, std::size_t> floats_of(const CompressionSpec& spec, std::size_t elements) {
  const auto k = static_cast<std::size_t>(kept(spec, static_cast<std::int64_t>(elements)));
  if (spec.kind == Scheme::int8) return {0, (elements + 1023) / 1024};
  if (spec.kind == Scheme::sign) return {0, 1};
  return spec.kind == Scheme::top_k ? std::pair{k, k} : std::pair<std::size_t, std::size_t>{0, 0};
}

RC_GTEST_PROP(CompressionBits, sent_and_kept_values_equal_the_plain_formula, ()) {
  const Scheme kind =
      *rc::gen::element(Scheme::fp16, Scheme::bf16, Scheme::int8, Scheme::sign, Scheme::top_k);
  const CompressionSpec spec{kind, *rc::gen::element(1e-6, 0.01, 0.3, 1.0), 4,
                             *rc::gen::arbitrary<bool>()};
  const auto elements = *rc::gen::oneOf(rc::gen::inRange<std::size_t>(1, 40),
                                        rc::gen::inRange<std::size_t>(1000, 3100),
                                        rc::gen::element<std::size_t>(1024, 2048));
  auto gradient = gradient_of(elements, *rc::gen::arbitrary<std::uint64_t>());
  std::vector<float> residual =
      feeds_back(spec) ? gradient_of(elements, 4 * *rc::gen::inRange<std::uint64_t>(0, 1000))
                       : std::vector<float>();

  Plain plain{residual, gradient,
              std::vector<std::byte>(static_cast<std::size_t>(
                  encoded_elements(spec, std::ssize(gradient)) * size_of(wire_dtype(kind)))),
              0};
  for (std::size_t i = 0; i < residual.size(); ++i)
    plain.residual[i] = plain.whole[i] = residual[i] + gradient[i];
  encode_plainly(plain, spec);

  std::vector<std::byte> encoded(plain.encoded.size());
  double squared_error = 0, step = 1;
  const Tensor wire{
      wire_dtype(kind), {std::ssize(encoded) / size_of(wire_dtype(kind))}, encoded.data()};
  run(CompressGradient{flat(gradient), residual.empty() ? Tensor{} : flat(residual), wire,
                       fp64(squared_error), fp64(step), spec, 7, 3});
  const auto [first, count] = floats_of(spec, elements);
  RC_ASSERT(same_encoded(encoded, plain.encoded, first, count));
  RC_ASSERT(std::equal(residual.begin(), residual.end(), plain.residual.begin(),
                       plain.residual.end(), same));
  RC_ASSERT(nan_or_near(squared_error, plain.squared_error));
}

// One rank per part; each part begins at any address.
RC_GTEST_PROP(CompressionBits, decoded_values_are_added_in_rank_order, ()) {
  const Scheme kind = *rc::gen::element(Scheme::int8, Scheme::sign);
  const CompressionSpec spec{kind, 0.01, 4, false};
  const auto elements = *rc::gen::inRange<std::int64_t>(1, 3100),
             parts = *rc::gen::inRange<std::int64_t>(1, 5);
  const std::int64_t of_rank = encoded_elements(spec, elements), scales = scales_of(elements);
  std::vector<std::byte> encoded(static_cast<std::size_t>(of_rank * parts) + 1);
  std::vector<float> expected(static_cast<std::size_t>(elements)), decoded(expected.size(), 9.0F);
  double error = 0, step = 1;
  for (std::int64_t p = 0; p < parts; ++p) {
    auto gradient = gradient_of(expected.size(), *rc::gen::arbitrary<std::uint64_t>());
    std::byte* const part = encoded.data() + 1 + p * of_rank;
    run(CompressGradient{
        flat(gradient), {}, {DType::byte, {of_rank}, part}, fp64(error), fp64(step), spec, 7, 3});
    for (std::int64_t i = 0; i < elements; ++i) {
      float scale = 0;
      std::memcpy(&scale, part + (kind == Scheme::int8 ? i / 1024 * 4 : 0), 4);
      const bool negative =
          kind == Scheme::sign &&
          (part[4 + i / 8] & static_cast<std::byte>(1u << (i % 8))) != std::byte{0};
      const float q =
          kind == Scheme::int8
              ? static_cast<float>(static_cast<std::int8_t>(part[4 * scales + i])) * scale
          : negative ? -scale
                     : scale;
      expected[static_cast<std::size_t>(i)] += q;
    }
  }
  run(DecompressGradient{{DType::byte, {of_rank * parts}, encoded.data() + 1},
                         flat(decoded),
                         fp64(step),
                         spec,
                         parts,
                         7,
                         3});
  RC_ASSERT(std::equal(decoded.begin(), decoded.end(), expected.begin(), expected.end(), same));
}

RC_GTEST_PROP(CompressionBits, sums_of_halves_equal_the_plain_formula_also_in_place, ()) {
  const bool fp16 = *rc::gen::arbitrary<bool>();
  const auto encode = fp16 ? plain_fp16 : plain_bf16;
  const auto decode = fp16 ? plain_from_fp16 : plain_from_bf16;
  const auto elements = *rc::gen::inRange<std::size_t>(1, 2100),
             ranks = *rc::gen::inRange<std::size_t>(1, 5);
  std::vector<std::vector<std::uint16_t>> halves(ranks, std::vector<std::uint16_t>(elements));
  std::vector<const std::byte*> sources;
  for (auto& of_rank : halves) {
    const auto values = gradient_of(elements, *rc::gen::arbitrary<std::uint64_t>());
    std::transform(values.begin(), values.end(), of_rank.begin(), encode);
    sources.push_back(reinterpret_cast<const std::byte*>(of_rank.data()));
  }
  std::vector<std::uint16_t> expected = halves[0];
  for (std::size_t r = 1; r < ranks; ++r)
    for (std::size_t i = 0; i < elements; ++i)
      expected[i] = encode(decode(expected[i]) + decode(halves[r][i]));
  const std::size_t into = *rc::gen::inRange<std::size_t>(0, ranks);
  reference::make()->sum(fp16 ? DType::fp16 : DType::bf16,
                         reinterpret_cast<std::byte*>(halves[into].data()), sources,
                         static_cast<std::int64_t>(elements));
  for (std::size_t i = 0; i < elements; ++i)
    RC_ASSERT(same(decode(halves[into][i]), decode(expected[i])));
}

// Sums of each element in the order of the plain loops, whatever number of columns is carried at
// once.
RC_GTEST_PROP(CompressionBits, products_of_power_sgd_equal_plain_loops, ()) {
  const auto rows = *rc::gen::inRange<std::int64_t>(12, 40),
             columns = *rc::gen::inRange<std::int64_t>(12, 40),
             rank = *rc::gen::inRange<std::int64_t>(1, 7);
  const Matrix matrix{0, rows, columns};
  const auto layout = power_sgd_layout(std::span(&matrix, 1), rank);
  const PowerSgdBlock& block = layout.blocks.front();
  const auto sized = [](std::int64_t elements) {
    return std::vector<float>(static_cast<std::size_t>(elements));
  };
  auto gradient = gradient_of(static_cast<std::size_t>(rows * columns),
                              4 * *rc::gen::inRange<std::uint64_t>(0, 1000));
  auto source = sized(rows * columns), guess = sized(layout.right_elements),
       left = sized(layout.left_elements), basis = left, right = guess;
  run(PowerSgdLeft{flat(gradient), flat(source), flat(guess), flat(left), layout, 7, 3});
  run(PowerSgdRight{flat(source), flat(left), flat(basis), flat(right), layout});

  const std::int64_t r = block.rank;
  std::vector<float> begun = guess, orthonormal = left, plain_left = left, plain_right = right,
                     plain_sum = gradient, plain_residual = source;
  const auto in = [](std::vector<float>& values, std::int64_t i) -> float& {
    return values[static_cast<std::size_t>(i)];
  };
  const auto product = [](float a, float b) {
    return static_cast<double>(a) * static_cast<double>(b);
  };
  for (std::int64_t k = 0; k < r; ++k) {
    make_guess(guess.data(), block, {7, 3}, begun.data());
    for (std::int64_t row = 0; row < rows; ++row) {
      double sum = 0;
      for (std::int64_t c = 0; c < columns; ++c)
        sum += product(in(gradient, row * columns + c), in(begun, c * r + k));
      in(plain_left, row * r + k) = static_cast<float>(sum);
    }
    for (std::int64_t c = 0; c < columns; ++c) {
      double sum = 0;
      for (std::int64_t row = 0; row < rows; ++row)
        sum += product(in(gradient, row * columns + c), in(basis, row * r + k));
      in(plain_right, c * r + k) = static_cast<float>(sum);
    }
  }
  make_orthonormal(orthonormal.data(), block);
  RC_ASSERT(left == plain_left);
  RC_ASSERT(basis == orthonormal);
  RC_ASSERT(right == plain_right);

  double squared_error = 0, plain_error = 0;
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    double sum = 0;
    for (std::int64_t k = 0; k < r; ++k)
      sum += product(in(basis, i / columns * r + k), in(right, i % columns * r + k));
    in(plain_sum, i) = static_cast<float>(sum);
    const double kept =
        static_cast<double>(in(source, i)) - static_cast<double>(static_cast<float>(sum)) / 3;
    in(plain_residual, i) = static_cast<float>(kept);
    plain_error += kept * kept;
  }
  run(PowerSgdDecode{flat(left), flat(basis), flat(right), flat(gradient), flat(source),
                     flat(guess), fp64(squared_error), layout, 3});
  RC_ASSERT(gradient == plain_sum);
  RC_ASSERT(source == plain_residual);
  RC_ASSERT(nan_or_near(squared_error, plain_error));
}

// 1 + 2^-24 is the middle between two fp32, and becomes 1, the even one. One after another the
// small numbers are lost beside it; added up among themselves first they are not, and it would be
// the other.
TEST(CompressionBits, scale_of_signs_equals_a_sequential_sum) {
  std::vector<float> gradient(4096, 0x1p-60F);
  gradient[0] = 1, gradient[1] = 0x1p-24F;
  std::vector<std::byte> encoded(
      static_cast<std::size_t>(encoded_elements({.kind = Scheme::sign}, 4096)));
  double error = 0, step = 1;
  const CompressionSpec spec{Scheme::sign, 0.01, 4, false};
  run(CompressGradient{flat(gradient),
                       {},
                       {DType::byte, {std::ssize(encoded)}, encoded.data()},
                       fp64(error),
                       fp64(step),
                       spec,
                       7,
                       3});
  float scale = 0;
  std::memcpy(&scale, encoded.data(), 4);
  EXPECT_EQ(scale, 1.0F / 4096);
}

}  // namespace
}  // namespace trainyard::compute::compression
