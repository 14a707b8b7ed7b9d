// SPDX-License-Identifier: GPL-3.0-or-later
// Compression schemes: sent and kept values add up to the gradient, sizes follow from lengths, and
// NaN stays NaN.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "core/base/random.h"
#include "core/compute/compression/half.h"
#include "core/compute/compression/scheme.h"
#include "core/compute/reference/reference.h"
#include "tests/core/compute/compression_ops.h"
#include "tests/problem_matchers.h"

namespace trainyard::compute::compression {
namespace {

using base::IsProblem;
using base::Reports;
using testing::AllOf;

const Scheme kFlat[] = {Scheme::fp16, Scheme::bf16,  Scheme::int8,
                        Scheme::sign, Scheme::top_k, Scheme::random_k};

CompressionSpec spec_of(Scheme kind, double fraction = 0.1, bool error_feedback = true) {
  return {kind, fraction, 2, error_feedback};
}

// One rank that compresses, step after step.
struct Sender {
  CompressionSpec spec;
  std::vector<float> residual;
  std::vector<std::byte> encoded;
  double squared_error = 0;

  Sender(const CompressionSpec& of, std::size_t elements)
      : spec(of),
        residual(feeds_back(of) ? elements : 0),
        encoded(static_cast<std::size_t>(encoded_elements(of, static_cast<std::int64_t>(elements)) *
                                         size_of(wire_dtype(of.kind)))) {}

  Tensor wire() {
    return {wire_dtype(spec.kind),
            {std::ssize(encoded) / size_of(wire_dtype(spec.kind))},
            encoded.data()};
  }

  void send(std::vector<float>& gradient, double step = 1) {
    std::vector<double> error(1), at{step};
    run(CompressGradient{flat(gradient), residual.empty() ? Tensor{} : flat(residual), wire(),
                         flat(error), flat(at), spec, 7, 3});
    squared_error = error[0];
  }
  std::vector<float> received(std::size_t elements, double step = 1) {
    std::vector<float> gradient(elements);
    std::vector<double> at{step};
    run(DecompressGradient{wire(), flat(gradient), flat(at), spec, 1, 7, 3});
    return gradient;
  }
};

std::vector<float> random_gradient(std::size_t elements, std::uint64_t seed) {
  const base::Random random(seed, base::Purpose::generate, 0);
  std::vector<float> values(elements);
  for (std::size_t i = 0; i < elements; ++i)
    values[i] =
        static_cast<float>(random.normal(i) * std::pow(10.0, random.uniform(elements + i, -6, 1)));
  return values;
}

bool same_bits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) || (a == 0 && b == 0);
}

Scheme any_scheme() { return *rc::gen::elementOf(std::vector(std::begin(kFlat), std::end(kFlat))); }

RC_GTEST_PROP(
    Compression,
    of_top_k_and_random_k_what_is_sent_and_kept_is_the_gradient_and_what_was_kept_bit_for_bit, ()) {
  const auto elements = *rc::gen::inRange<std::size_t>(1, 3000);
  Sender sender(spec_of(*rc::gen::element(Scheme::top_k, Scheme::random_k),
                        *rc::gen::element(1e-6, 0.01, 0.3, 1.0)),
                elements);
  for (int step = 1; step <= 3; ++step) {
    auto gradient = random_gradient(elements, *rc::gen::arbitrary<std::uint64_t>());
    const auto before = sender.residual;
    sender.send(gradient, step);
    const auto sent = sender.received(elements, step);
    std::int64_t count = 0;
    for (std::size_t i = 0; i < elements; ++i) {
      const float whole = gradient[i] + before[i];
      RC_ASSERT(same_bits(sent[i] + sender.residual[i], whole));
      RC_ASSERT(same_bits(sent[i], whole) || sent[i] == 0);
      count += sent[i] != 0 ? 1 : 0;
    }
    RC_ASSERT(count <= kept(sender.spec, static_cast<std::int64_t>(elements)));
  }
}

RC_GTEST_PROP(Compression, sent_and_kept_values_of_rounding_schemes_add_up_to_the_gradient, ()) {
  const auto elements = *rc::gen::inRange<std::size_t>(1, 3000);
  Sender sender(spec_of(*rc::gen::element(Scheme::int8, Scheme::sign)), elements);
  for (int step = 0; step < 3; ++step) {
    auto gradient = random_gradient(elements, *rc::gen::arbitrary<std::uint64_t>());
    const auto before = sender.residual;
    sender.send(gradient);
    const auto sent = sender.received(elements);
    double squared = 0;
    for (std::size_t i = 0; i < elements; ++i) {
      const double whole = static_cast<double>(gradient[i]) + static_cast<double>(before[i]);
      const double size =
          std::max({std::fabs(whole), std::fabs(static_cast<double>(sent[i])), 1e-30});
      RC_ASSERT(std::fabs(static_cast<double>(sent[i]) + static_cast<double>(sender.residual[i]) -
                          whole) <= 1e-6 * size);
      squared += static_cast<double>(sender.residual[i]) * static_cast<double>(sender.residual[i]);
    }
    RC_ASSERT(std::fabs(sender.squared_error - squared) <= 1e-9 * squared);
  }
}

RC_GTEST_PROP(Compression, has_the_length_of_the_formula_and_never_exceeds_the_buffer, ()) {
  const auto n = *rc::gen::inRange<std::int64_t>(0, 5000);
  RC_ASSERT(encoded_elements(spec_of(Scheme::fp16), n) * size_of(wire_dtype(Scheme::fp16)) ==
            2 * n);
  RC_ASSERT(encoded_elements(spec_of(Scheme::bf16), n) * size_of(wire_dtype(Scheme::bf16)) ==
            2 * n);
  RC_ASSERT(encoded_elements(spec_of(Scheme::int8), n) == n + 4 * ((n + 1023) / 1024));
  RC_ASSERT(encoded_elements(spec_of(Scheme::sign), n) == (n == 0 ? 0 : 4 + (n + 7) / 8));
  const std::int64_t k =
      n == 0 ? 0 : std::max<std::int64_t>(1, std::llround(0.25 * static_cast<double>(n)));
  RC_ASSERT(encoded_elements(spec_of(Scheme::top_k, 0.25), n) == 8 * k);
  RC_ASSERT(encoded_elements(spec_of(Scheme::random_k, 0.25), n) == k);
}

// The device writes nothing beyond either end.
RC_GTEST_PROP(Compression, fills_exactly_its_part, ()) {
  const Scheme kind = any_scheme();
  const auto elements = *rc::gen::inRange<std::size_t>(0, 2100);
  Sender sender(spec_of(kind), elements);
  const std::size_t bytes = sender.encoded.size();
  sender.encoded.assign(bytes + 16, std::byte{0xA5});
  auto gradient = random_gradient(elements, 5);
  std::vector<double> error(1), step{1};
  Tensor wire{wire_dtype(kind),
              {encoded_elements(sender.spec, static_cast<std::int64_t>(elements))},
              sender.encoded.data()};
  run(CompressGradient{flat(gradient), sender.residual.empty() ? Tensor{} : flat(sender.residual),
                       wire, flat(error), flat(step), sender.spec, 7, 3});
  for (std::size_t i = bytes; i < bytes + 16; ++i) RC_ASSERT(sender.encoded[i] == std::byte{0xA5});
}

RC_GTEST_PROP(Compression, without_feedback_keeps_no_residual_and_leaves_the_gradient, ()) {
  const Scheme kind = any_scheme();
  const auto elements = *rc::gen::inRange<std::size_t>(1, 2000);
  Sender sender(spec_of(kind, 0.1, false), elements);
  auto gradient = random_gradient(elements, 11);
  const auto before = gradient;
  sender.send(gradient);
  RC_ASSERT(gradient == before);
  const auto sent = sender.received(elements);
  double squared = 0;
  for (std::size_t i = 0; i < elements; ++i)
    squared += std::pow(static_cast<double>(gradient[i]) - static_cast<double>(sent[i]), 2);
  RC_ASSERT(std::fabs(sender.squared_error - squared) <= 1e-6 * squared + 1e-30);
}

RC_GTEST_PROP(Compression, keeps_nan, ()) {
  const Scheme kind = any_scheme();
  const bool feedback = *rc::gen::arbitrary<bool>();
  const auto elements = *rc::gen::inRange<std::size_t>(1, 2500);
  Sender sender(spec_of(kind, 0.01, feedback), elements);
  auto gradient = random_gradient(elements, 3);
  gradient[*rc::gen::inRange<std::size_t>(0, elements)] = *rc::gen::element(kNaN, kInf, -kInf);
  sender.send(gradient);
  const auto sent = sender.received(elements);
  RC_ASSERT(
      std::any_of(sent.begin(), sent.end(), [](float value) { return !std::isfinite(value); }));
  RC_ASSERT(!std::isfinite(sender.squared_error) || kind == Scheme::top_k ||
            kind == Scheme::random_k || kind == Scheme::fp16 || kind == Scheme::bf16);
}

TEST(Compression, top_k_selects_the_greatest_magnitudes_and_the_first_of_equal_ones) {
  Sender sender(spec_of(Scheme::top_k, 0.5), 6);
  std::vector<float> gradient{1, -3, 2, 3, -2, 2};
  sender.send(gradient);
  EXPECT_EQ(sender.received(6), (std::vector<float>{0, -3, 2, 3, 0, 0}));
  EXPECT_EQ(sender.residual, (std::vector<float>{1, 0, 0, 0, -2, 2}));
  EXPECT_DOUBLE_EQ(sender.squared_error, 9);
}

TEST(Compression, random_k_selects_other_elements_each_step_and_all_in_time) {
  Sender sender(spec_of(Scheme::random_k, 0.1), 200);
  std::vector<float> gradient(200, 1);
  std::vector<int> times(200);
  for (int step = 1; step <= 200; ++step) {
    sender.send(gradient, step);
    const auto sent = sender.received(200, step);
    int count = 0;
    for (std::size_t i = 0; i < 200; ++i)
      times[i] += sent[i] != 0 ? 1 : 0, count += sent[i] != 0 ? 1 : 0;
    ASSERT_EQ(count, 20);
  }
  // Each is binomial (200, 0.1): mean 20, deviation 4.24.
  for (const int drawn : times) EXPECT_NEAR(drawn, 20, 6 * 4.24);
}

TEST(Compression, sign_sends_the_mean_magnitude_and_one_bit_per_number) {
  Sender sender(spec_of(Scheme::sign), 9);
  std::vector<float> gradient{1, -2, 3, -4, 5, -6, 7, -8, 9};
  sender.send(gradient);
  EXPECT_EQ(sender.encoded.size(), 6u);
  EXPECT_EQ(sender.received(9), (std::vector<float>{5, -5, 5, -5, 5, -5, 5, -5, 5}));
}

TEST(Compression, int8_error_is_at_most_half_a_step_of_its_chunk) {
  auto gradient = random_gradient(2500, 9);
  Sender sender(spec_of(Scheme::int8, 0.1, false), gradient.size());
  sender.send(gradient);
  const auto sent = sender.received(gradient.size());
  for (std::size_t chunk = 0; chunk < 3; ++chunk) {
    float greatest = 0;
    const std::size_t end = std::min<std::size_t>(gradient.size(), (chunk + 1) * 1024);
    for (std::size_t i = chunk * 1024; i < end; ++i)
      greatest = std::max(greatest, std::fabs(gradient[i]));
    for (std::size_t i = chunk * 1024; i < end; ++i)
      EXPECT_LE(std::fabs(sent[i] - gradient[i]), greatest / 254 * 1.0001F);
  }
}

// The definition: the nearest of all 16-bit values, and of two equally near ones the even one.
TEST(Half, fp16_rounds_to_nearest_even) {
  EXPECT_EQ(Fp16::encode(1.0F), 0x3C00);
  EXPECT_EQ(Fp16::encode(-2.0F), 0xC000);
  EXPECT_EQ(Fp16::encode(65504.0F), 0x7BFF);
  EXPECT_EQ(Fp16::encode(65519.99F), 0x7BFF);
  EXPECT_EQ(Fp16::encode(65520.0F), 0x7C00);
  EXPECT_EQ(Fp16::encode(0x1p-24F), 0x0001);
  EXPECT_EQ(Fp16::encode(0x1p-25F), 0x0000);
  EXPECT_EQ(Fp16::encode(0x1.8p-25F), 0x0001);
  EXPECT_EQ(Fp16::encode(1 + 0x1p-11F), 0x3C00);
  EXPECT_EQ(Fp16::encode(1 + 3 * 0x1p-11F), 0x3C02);
  EXPECT_EQ(Fp16::encode(-0.0F), 0x8000);
  EXPECT_EQ(Fp16::encode(kInf), 0x7C00);
  EXPECT_TRUE(std::isnan(Fp16::decode(Fp16::encode(kNaN))));
}

TEST(Half, value_decodes_and_encodes_to_itself) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    if (!std::isnan(Fp16::decode(half))) {
      ASSERT_EQ(Fp16::encode(Fp16::decode(half)), half);
    }
    if (!std::isnan(Bf16::decode(half))) {
      ASSERT_EQ(Bf16::encode(Bf16::decode(half)), half);
    }
  }
}

RC_GTEST_PROP(Half, value_is_the_nearest_representable_number, ()) {
  const auto value = std::bit_cast<float>(*rc::gen::arbitrary<std::uint32_t>());
  RC_PRE(std::isfinite(value) && std::fabs(value) < 65504);
  const std::uint16_t half = Fp16::encode(value);
  const double error =
      std::fabs(static_cast<double>(Fp16::decode(half)) - static_cast<double>(value));
  for (const int step : {-1, 1}) {
    const auto other = static_cast<std::uint16_t>(half + step);
    if ((other & 0x7FFF) < 0x7C00 && (other & 0x8000) == (half & 0x8000))
      RC_ASSERT(error <=
                std::fabs(static_cast<double>(Fp16::decode(other)) - static_cast<double>(value)));
  }
}

TEST(Half, sums_are_rounded_after_each_addition_at_any_address) {
  const float values[] = {1, 0x1p-11F,
                          0x1p-11F};  // each alone is lost beside 1; together they are not
  for (const DType dtype : {DType::fp16, DType::bf16}) {
    std::byte memory[7], sum[2];
    const std::byte* sources[3];
    for (int i = 0; i < 3; ++i) {
      const std::uint16_t half =
          dtype == DType::fp16 ? Fp16::encode(values[i]) : Bf16::encode(values[i]);
      std::memcpy(memory + 1 + 2 * i, &half, 2);
      sources[i] = memory + 1 + 2 * i;
    }
    reference::make()->sum(dtype, sum, sources, 1);
    std::uint16_t half = 0;
    std::memcpy(&half, sum, 2);
    EXPECT_EQ(dtype == DType::fp16 ? Fp16::decode(half) : Bf16::decode(half), 1);
  }
}

TEST(Compression, refuses_an_invalid_op_and_names_it) {
  std::vector<float> gradient(10), residual(9);
  std::vector<std::byte> encoded(20);
  std::vector<double> error(1);
  CompressGradient op{flat(gradient),
                      {},
                      {DType::fp16, {10}, encoded.data()},
                      flat(error),
                      {},
                      spec_of(Scheme::fp16),
                      0,
                      0};
  const auto refused = [](const Op& one) {
    const auto kernel = reference::make()->prepare(one);
    return kernel ? base::Problem{} : kernel.error();
  };
  EXPECT_EQ(refused(op), base::Problem{});
  auto other = op;
  other.encoded.shape = {9};
  EXPECT_THAT(refused(other), AllOf(IsProblem("bad_op", "compress_gradient"), Reports("encoded"),
                                    Reports("fp16 [9]")));
  other = op;
  other.residual = flat(residual);
  EXPECT_THAT(refused(other), AllOf(IsProblem("bad_op", "compress_gradient"), Reports("residual"),
                                    Reports("fp32 [9]")));
  other = op;
  other.spec.kind = Scheme::none;
  EXPECT_THAT(refused(other),
              AllOf(IsProblem("bad_op", "compress_gradient"), Reports("kind"), Reports("none")));
  DecompressGradient two{op.encoded, flat(gradient), {}, op.spec, 2, 0, 0};
  EXPECT_THAT(refused(two),
              AllOf(IsProblem("bad_op", "decompress_gradient"), Reports("parts"), Reports("2")));
}

}  // namespace
}  // namespace trainyard::compute::compression
