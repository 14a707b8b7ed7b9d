// SPDX-License-Identifier: GPL-3.0-or-later
// Requirements on every Compute for compression: encoded and decoded data are bit-identical to the
// reference, except the scale of signs and PowerSGD, which are sums in a device-specific order.
#pragma once

#include <bit>

#include "core/compute/compression/power_sgd_layout.h"
#include "core/compute/compression/scheme.h"
#include "tests/conformance/compute_conformance.h"

namespace trainyard::conformance {

using compute::compression::CompressionSpec;
using compute::compression::Scheme;

inline constexpr Scheme kFlatSchemes[] = {Scheme::fp16, Scheme::bf16,  Scheme::int8,
                                          Scheme::sign, Scheme::top_k, Scheme::random_k};
inline constexpr std::int64_t kGradients[] = {0, 1, 7, 8, 9, 1023, 1024, 1025, 5000};

enum class Numbers { of_all_sizes, few_magnitudes, any_bits, subnormal };
inline constexpr Numbers kNumbers[] = {Numbers::of_all_sizes, Numbers::few_magnitudes,
                                       Numbers::any_bits, Numbers::subnormal};

inline Tensor numbers(Values& values, std::int64_t elements, Numbers kind, std::uint64_t seed) {
  const base::Random random(seed, base::Purpose::generate, static_cast<std::uint32_t>(kind));
  const Tensor tensor = values.zeros(DType::fp32, {elements});
  for (std::int64_t i = 0; i < elements; ++i) {
    const auto n = static_cast<std::uint64_t>(i);
    float value = 0;
    if (kind == Numbers::of_all_sizes)
      value = static_cast<float>(random.normal(n) *
                                 std::pow(10.0, random.uniform(n + (1U << 20), -6, 1)));
    if (kind == Numbers::few_magnitudes)
      value = static_cast<float>(static_cast<int>(random.uniform(n, -3, 4)));
    if (kind == Numbers::any_bits)
      value = std::bit_cast<float>(static_cast<std::uint32_t>(random.bits(n)));  // NaN and Inf, too
    if (kind == Numbers::subnormal)
      value = static_cast<float>(static_cast<int>(random.uniform(n, -300, 300))) * 0x1p-149F;
    tensor.as<float>()[i] = value;
  }
  return tensor;
}

// An addition may return any NaN.
inline bool same(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}
inline bool near(double a, double b, double relative) {
  return (std::isnan(a) && std::isnan(b)) || a == b || std::abs(a - b) <= relative * std::abs(b);
}

inline CompressionSpec spec_of(Scheme kind, double fraction = 0.1, bool error_feedback = false) {
  return {kind, fraction, 4, error_feedback};
}

// Encoded data begin at any address, and nothing is written outside of them.
struct Sent {
  static constexpr std::int64_t kAround = 3;
  Tensor memory, encoded;

  Sent(Values& values, const CompressionSpec& spec, std::int64_t elements, std::int64_t parts = 1) {
    const std::int64_t numbers = parts * compute::compression::encoded_elements(spec, elements);
    const DType dtype = compute::compression::wire_dtype(spec.kind);
    memory = values.zeros(DType::byte, {numbers * base::size_of(dtype) + 2 * kAround});
    std::fill_n(memory.data, memory.bytes(), std::byte{0xA5});
    encoded = {dtype, {numbers}, memory.data + kAround};
  }
  bool within_its_place() const {
    for (std::int64_t i = 0; i < kAround; ++i)
      if (memory.data[i] != std::byte{0xA5} ||
          memory.data[memory.bytes() - 1 - i] != std::byte{0xA5})
        return false;
    return true;
  }
};

inline compute::CompressGradient compress(Values& values, const CompressionSpec& spec,
                                          std::int64_t elements, Numbers kind, const Sent& sent) {
  const Tensor residual =
      compute::compression::feeds_back(spec) ? numbers(values, elements, kind, 5) : Tensor{};
  return {numbers(values, elements, kind, 4),
          residual,
          sent.encoded,
          values.scalar(-1),
          values.scalar(9),
          spec,
          7,
          3};
}

template <class T>
T at(const std::byte* from, std::int64_t i) {
  T value;
  std::memcpy(&value, from + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

// The scales of what travels, or the numbers: where they begin, and how many they are.
inline std::pair<std::int64_t, std::int64_t> floats_in(const CompressionSpec& spec,
                                                       std::int64_t elements) {
  const std::int64_t k = compute::compression::kept(spec, elements);
  if (spec.kind == Scheme::int8) return {0, compute::compression::scales_of(elements)};
  if (spec.kind == Scheme::sign) return {0, 1};
  if (spec.kind == Scheme::top_k) return {k, k};
  return {0, spec.kind == Scheme::random_k ? k : 0};
}

inline void expect_same_sent(const Tensor& found, const Tensor& expected,
                             const CompressionSpec& spec, std::int64_t elements) {
  const auto [first, count] = floats_in(spec, elements);
  for (std::int64_t i = 0; i < found.bytes(); ++i) {
    if (i >= 4 * first && i < 4 * (first + count)) continue;
    ASSERT_EQ(found.data[i], expected.data[i]) << "byte " << i;
  }
  for (std::int64_t i = first; i < first + count && found.bytes() > 0; ++i) {
    const auto one = at<float>(found.data, i), other = at<float>(expected.data, i);
    ASSERT_TRUE(spec.kind == Scheme::sign ? near(one, other, 1e-6) : same(one, other))
        << one << " in the place of " << other << " at " << i;
  }
}

inline void expect_compressed_alike(compute::Compute& device, compute::Compute& reference,
                                    const CompressionSpec& spec, std::int64_t elements,
                                    Numbers kind) {
  SCOPED_TRACE(std::string(base::name_of(spec.kind)) + " of " + std::to_string(elements) +
               ", numbers " + std::to_string(static_cast<int>(kind)));
  Values mine, its;
  const Sent here(mine, spec, elements), there(its, spec, elements);
  const auto found = compress(mine, spec, elements, kind, here),
             expected = compress(its, spec, elements, kind, there);
  run(device, found);
  run(reference, expected);
  expect_same_sent(found.encoded, expected.encoded, spec, elements);
  EXPECT_TRUE(here.within_its_place());
  EXPECT_TRUE(near(element(found.squared_error, 0), element(expected.squared_error, 0),
                   spec.kind == Scheme::sign ? 1e-5 : 1e-12))
      << element(found.squared_error, 0) << " in the place of "
      << element(expected.squared_error, 0);
  EXPECT_EQ(std::memcmp(found.gradient.data, expected.gradient.data,
                        static_cast<std::size_t>(found.gradient.bytes())),
            0);
  if (found.residual.empty()) return;
  const double scale =
      spec.kind == Scheme::sign && elements > 0 ? at<float>(expected.encoded.data, 0) : 0;
  for (std::int64_t i = 0; i < elements; ++i) {
    const float one = found.residual.as<float>()[i], other = expected.residual.as<float>()[i];
    ASSERT_TRUE(same(one, other) || std::abs(one - other) <= 1e-6 * scale)
        << one << " in the place of " << other << " is left of " << i;
  }
}

TEST_P(ComputeConformance, compression_sends_and_keeps_the_values_of_the_reference) {
  for (const Scheme scheme : kFlatSchemes)
    for (const std::int64_t elements : kGradients)
      for (const Numbers kind : kNumbers)
        expect_compressed_alike(*device_, *reference_, spec_of(scheme), elements, kind);
}

TEST_P(ComputeConformance, compression_with_feedback_sends_and_keeps_the_values_of_the_reference) {
  for (const Scheme scheme : {Scheme::int8, Scheme::sign, Scheme::top_k, Scheme::random_k})
    for (const std::int64_t elements : kGradients)
      for (const Numbers kind :
           {Numbers::of_all_sizes, Numbers::few_magnitudes, Numbers::subnormal})
        expect_compressed_alike(*device_, *reference_, spec_of(scheme, 0.1, true), elements, kind);
}

// Nearly none of them, half, and all.
TEST_P(ComputeConformance, compression_handles_any_part_of_a_gradient) {
  for (const Scheme scheme : {Scheme::top_k, Scheme::random_k})
    for (const double fraction : {1e-6, 0.5, 1.0})
      for (const Numbers kind : kNumbers)
        expect_compressed_alike(*device_, *reference_, spec_of(scheme, fraction), 3000, kind);
}

inline void expect_decompressed_alike(compute::Compute& device, compute::Compute& reference,
                                      const CompressionSpec& spec, std::int64_t elements,
                                      std::int64_t parts, Numbers kind) {
  SCOPED_TRACE(std::string(base::name_of(spec.kind)) + " of " + std::to_string(elements) + ", " +
               std::to_string(parts) + " parts");
  Values values;
  const Sent all(values, spec, elements, parts);
  const std::int64_t of_part = all.encoded.elements() / parts;
  for (std::int64_t p = 0; p < parts; ++p) {
    auto one = compress(values, spec, elements, kind, all);
    one.encoded = {all.encoded.dtype,
                   {of_part},
                   all.encoded.data + p * of_part * base::size_of(all.encoded.dtype)};
    one.gradient = numbers(values, elements, kind, 20 + static_cast<std::uint64_t>(p));
    run(reference, one);
  }
  const Tensor found = numbers(values, elements, kind, 1),
               expected = numbers(values, elements, kind, 1), step = values.scalar(9);
  run(device, compute::DecompressGradient{all.encoded, found, step, spec, parts, 7, 3});
  run(reference, compute::DecompressGradient{all.encoded, expected, step, spec, parts, 7, 3});
  for (std::int64_t i = 0; i < elements; ++i)
    ASSERT_TRUE(same(found.as<float>()[i], expected.as<float>()[i]))
        << found.as<float>()[i] << " in the place of " << expected.as<float>()[i] << " at " << i;
}

TEST_P(ComputeConformance, decompression_equals_the_reference_bit_for_bit) {
  for (const Scheme scheme : kFlatSchemes)
    for (const std::int64_t elements : kGradients)
      for (const std::int64_t parts : {1, 3})
        for (const Numbers kind : kNumbers)
          if (parts == 1 || compute::compression::gathers(scheme))
            expect_decompressed_alike(*device_, *reference_, spec_of(scheme), elements, parts,
                                      kind);
}

// Two ranks' PowerSGD, whose sums a collective would make.
struct PowerSgdSteps {
  compute::compression::PowerSgdLayout layout;
  Tensor gradient, residual, guess, left, basis, right, error;

  PowerSgdSteps(Values& values, std::int64_t rank, bool keeps) {
    const std::vector<compute::compression::Matrix> matrices = {
        {0, 40, 30}, {1200, 1, 17}, {1217, 300, 9}, {3917, 5, 600}};
    layout = compute::compression::power_sgd_layout(matrices, rank);
    gradient = values.uniform(DType::fp32, {layout.elements});
    if (keeps) residual = values.uniform(DType::fp32, {layout.elements});
    guess = values.zeros(DType::fp32, {layout.right_elements}),
    right = values.zeros(DType::fp32, {layout.right_elements});
    left = values.zeros(DType::fp32, {layout.left_elements}),
    basis = values.zeros(DType::fp32, {layout.left_elements}), error = values.scalar(-1);
  }
  void step(compute::Compute& device, std::uint64_t seed) const {
    run(device, compute::PowerSgdLeft{gradient, residual, guess, left, layout, seed, 3});
    run(device,
        compute::PowerSgdRight{residual.empty() ? gradient : residual, left, basis, right, layout});
    run(device,
        compute::PowerSgdDecode{left, basis, right, gradient, residual, guess, error, layout, 2});
  }
  std::vector<std::pair<const char*, Tensor>> results() const {
    std::vector<std::pair<const char*, Tensor>> all{{"left", left},
                                                    {"right", right},
                                                    {"gradient", gradient},
                                                    {"guess", guess},
                                                    {"squared_error", error}};
    if (!residual.empty()) all.emplace_back("residual", residual);
    return all;
  }
};

// The guess is empty at first, later the result of the previous step. Without feedback the gradient
// consists of these columns after the first step: its residual would only be rounding.
inline void expect_power_sgd_alike(compute::Compute& device, compute::Compute& reference,
                                   std::int64_t rank, bool keeps) {
  SCOPED_TRACE(std::to_string(rank) + (keeps ? " columns, with feedback" : " columns"));
  Values mine, its;
  const PowerSgdSteps found(mine, rank, keeps), expected(its, rank, keeps);
  for (int step = 0; step < (keeps ? 2 : 1); ++step) {
    found.step(device, 7);
    expected.step(reference, 7);
  }
  const auto one = found.results(), other = expected.results();
  for (std::size_t r = 0; r < one.size(); ++r)
    expect_near(one[r].second, other[r].second, 2e-5, one[r].first);
}

TEST_P(ComputeConformance, power_sgd_is_close_to_the_reference) {
  for (const std::int64_t rank : {1, 4, 7})
    for (const bool keeps : {false, true})
      expect_power_sgd_alike(*device_, *reference_, rank, keeps);
}

TEST_P(ComputeConformance, power_sgd_propagates_nan_and_restarts) {
  Values values;
  const PowerSgdSteps steps(values, 4, true);
  steps.gradient.as<float>()[31] = std::numeric_limits<float>::quiet_NaN();
  steps.step(*device_, 7);
  EXPECT_TRUE(std::isnan(element(steps.gradient, 1199))) << "all of its matrix";
  EXPECT_TRUE(std::isfinite(element(steps.gradient, 1200))) << "no bytes of the next message";
  EXPECT_TRUE(std::isnan(element(steps.error, 0)));
  for (const Tensor& kept : {steps.guess, steps.residual})
    for (std::int64_t i = 0; i < kept.elements(); ++i)
      ASSERT_TRUE(std::isfinite(element(kept, i))) << i;
}

// A column that lies along those before it becomes nothing.
TEST_P(ComputeConformance, power_sgd_of_equal_columns_has_a_basis_of_rank_one) {
  Values values;
  const std::vector<compute::compression::Matrix> matrices = {{0, 20, 20}};
  const auto layout = compute::compression::power_sgd_layout(matrices, 3);
  const Tensor source = values.uniform(DType::fp32, {400}), left = values.zeros(DType::fp32, {60}),
               column = values.uniform(DType::fp32, {20});
  const Tensor basis = values.zeros(DType::fp32, {60}), right = values.uniform(DType::fp32, {60});
  for (std::int64_t i = 0; i < 60; ++i) set_element(left, i, element(column, i / 3));
  run(*device_, compute::PowerSgdRight{source, left, basis, right, layout});
  double length = 0;
  for (std::int64_t i = 0; i < 60; ++i) {
    if (i % 3 == 0) length += element(basis, i) * element(basis, i);
    else EXPECT_EQ(element(basis, i), 0) << i;
  }
  EXPECT_NEAR(length, 1, 1e-6);
}

// Each op of compression on tensors of its own.
inline std::vector<compute::Op> ops_of_compression(Values& values) {
  std::vector<compute::Op> ops;
  for (const Scheme scheme : kFlatSchemes) {
    const CompressionSpec spec = spec_of(scheme, 0.1, true);
    const Sent sent(values, spec, 5000);
    ops.emplace_back(compress(values, spec, 5000, Numbers::of_all_sizes, sent));
    ops.emplace_back(compute::DecompressGradient{sent.encoded, values.zeros(DType::fp32, {5000}),
                                                 values.scalar(9), spec, 1, 7, 3});
  }
  const PowerSgdSteps steps(values, 4, true);
  ops.emplace_back(compute::PowerSgdLeft{steps.gradient, steps.residual, steps.guess, steps.left,
                                         steps.layout, 7, 3});
  ops.emplace_back(
      compute::PowerSgdRight{steps.residual, steps.left, steps.basis, steps.right, steps.layout});
  ops.emplace_back(compute::PowerSgdDecode{steps.left, steps.basis, steps.right, steps.gradient,
                                           steps.residual, steps.guess, steps.error, steps.layout,
                                           2});
  return ops;
}

TEST_P(ComputeConformance, compression_enqueue_allocates_nothing) {
  const auto queue = device_->make_queue();
  Values values;
  const auto ops = ops_of_compression(values);
  for (std::size_t o = 0; o < ops.size(); ++o) {
    auto kernel = device_->prepare(ops[o]);
    ASSERT_TRUE(kernel) << base::to_string(kernel.error());
    (*kernel)->enqueue(*queue);  // a queue may set up once
    const long before = allocations;
    for (int i = 0; i < 3; ++i) (*kernel)->enqueue(*queue);
    EXPECT_LE(allocations - before, 3 * GetParam().library_allocations) << "op " << o;
    ASSERT_TRUE(compute::finish(*queue)) << "the object it was created from still exists";
  }
}

TEST_P(ComputeConformance, compression_is_deterministic_at_any_address) {
  Values here, there(1, 8);
  const auto some = ops_of_compression(here), others = ops_of_compression(there);
  for (std::size_t o = 0; o < some.size(); ++o) {
    run(*device_, some[o]);
    run(*device_, others[o]);
    std::visit(
        [&]<class OneOp>(const OneOp& one) {
          const OneOp& other = std::get<OneOp>(others[o]);
          const auto alike = [&](const Tensor& a, const Tensor& b) {
            if (a.empty()) return;
            EXPECT_EQ(std::memcmp(a.data, b.data, static_cast<std::size_t>(a.bytes())), 0)
                << "op " << o;
          };
          if constexpr (requires { one.encoded; }) alike(one.encoded, other.encoded);
          if constexpr (requires { one.residual; }) alike(one.residual, other.residual);
          if constexpr (requires { one.gradient; }) alike(one.gradient, other.gradient);
          if constexpr (requires { one.right; }) alike(one.right, other.right);
        },
        some[o]);
  }
}

}  // namespace trainyard::conformance
