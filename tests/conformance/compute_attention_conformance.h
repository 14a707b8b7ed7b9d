// SPDX-License-Identifier: GPL-3.0-or-later
// Requirements on every Compute for 16-bit attention with usual head widths, where it may round
// probabilities and values derived from them before it multiplies them
// (core/compute/half_precision.h).
#pragma once

#include "tests/conformance/compute_halves_conformance.h"

namespace trainyard::conformance {

struct AttentionSizes {
  std::int64_t samples, rows, heads, width;
  double largest =
      2;  // query, key and value are less than this: where it is large, few keys have all
};

inline std::string to_text(const AttentionSizes& s) {
  return std::to_string(s.samples) + " samples of " + std::to_string(s.rows) + " rows, " +
         std::to_string(s.heads) + " heads of " + std::to_string(s.width) + " below " +
         std::to_string(s.largest);
}

inline const std::vector<AttentionSizes> kAttention = {
    {2, 1, 2, 16},   {2, 5, 3, 16},      {1, 64, 2, 32},    {2, 65, 2, 48},      {2, 130, 2, 64},
    {1, 200, 3, 64}, {1, 200, 2, 64, 9}, {2, 65, 2, 80, 5}, {1, 200, 2, 128, 3}, {3, 1, 1, 128}};

// Forward, and backward.
struct AttentionCases {
  Case forward, backward;
};

inline AttentionCases attention_cases(Values& values, DType dtype, const AttentionSizes& s) {
  const Shape apart{s.samples, s.rows, 3 * s.heads * s.width},
      together{s.samples, s.rows, s.heads * s.width};
  Values whole;  // aligned, wherever `values` puts what is made of them
  const auto rounded = [&](const Shape& shape, double largest) {
    const Tensor numbers = whole.uniform(DType::fp32, shape, -largest, largest),
                 half = values.zeros(dtype, shape);
    compute::round(dtype, numbers.as<float>(), half.data, numbers.elements());
    return half;
  };
  const Tensor input = rounded(apart, s.largest), gradient = rounded(together, 1),
               output = rounded(together, 1), input_gradient = rounded(apart, 1);
  return {{compute::AttentionForward{input, output, s.heads}, {{"output", output}}},
          {compute::AttentionBackward{input, output, gradient, input_gradient, s.heads},
           {{"input_gradient", input_gradient}}}};
}

// Columns of a tensor: the root of the mean square of how far they are off, relative to that of
// what is expected, or to 0.01 where that is less: it may be 0, where terms cancel.
inline double mean_error(const Tensor& found, const Tensor& expected, std::int64_t first,
                         std::int64_t columns) {
  const std::int64_t width = expected.shape[2];
  double squares = 0, of_expected = 0;
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    if (i % width < first || i % width >= first + columns) continue;
    squares += std::pow(element(found, i) - element(expected, i), 2);
    of_expected += std::pow(element(expected, i), 2);
  }
  return std::sqrt(squares / std::max(of_expected, 1e-4 * static_cast<double>(expected.elements() /
                                                                              width * columns)));
}

// Two or three roundings a number, one of them of a sum's parts.
inline void expect_rounded_on_the_way(const Tensor& found, const Tensor& expected,
                                      std::int64_t columns, const char* what) {
  const double step = spacing(expected.dtype, 1);
  expect_near(found, expected, 2.5 * step, what);
  for (std::int64_t first = 0; first < expected.shape[2]; first += columns)
    EXPECT_LE(mean_error(found, expected, first, columns), step / 2)
        << what << " from column " << first << " on";
}

inline void expect_near_the_reference(compute::Compute& device, compute::Compute& reference,
                                      DType dtype, const AttentionSizes& sizes) {
  SCOPED_TRACE(std::string(base::name_of(dtype)) + ", " + to_text(sizes));
  Values mine, its;
  const AttentionCases found = attention_cases(mine, dtype, sizes),
                       expected = attention_cases(its, dtype, sizes);
  for (const auto& [one, other] :
       {std::pair{found.forward, expected.forward}, std::pair{found.backward, expected.backward}}) {
    run(device, one.op);
    run(reference, other.op);
    const auto& [name, result] = one.results[0];
    const Tensor wanted = other.results[0].second;
    expect_rounded_on_the_way(result, wanted, sizes.heads * sizes.width, name);
    std::memcpy(result.data, wanted.data,
                static_cast<std::size_t>(wanted.bytes()));  // backward uses the same output
  }
}

TEST_P(ComputeConformance, attention_of_16_bits_is_close_to_the_reference) {
  for (const DType dtype : kHalves)
    for (const AttentionSizes& sizes : kAttention)
      expect_near_the_reference(*device_, *reference_, dtype, sizes);
}

// Compares one result on two devices, with tensors at different addresses.
inline void expect_same_bits(compute::Compute& device, compute::Compute& other, DType dtype,
                             const AttentionSizes& sizes, std::size_t shift) {
  SCOPED_TRACE(std::string(base::name_of(dtype)) + ", " + to_text(sizes) + ", " +
               std::to_string(shift) + " elements further");
  Values mine, its(1, shift);
  const AttentionCases a = attention_cases(mine, dtype, sizes),
                       b = attention_cases(its, dtype, sizes);
  for (const auto& [one, another] :
       {std::pair{a.forward, b.forward}, std::pair{a.backward, b.backward}}) {
    run(device, one.op);
    run(other, another.op);
    const Tensor result = one.results[0].second;
    EXPECT_EQ(std::memcmp(result.data, another.results[0].second.data,
                          static_cast<std::size_t>(result.bytes())),
              0)
        << one.results[0].first;
  }
}

TEST_P(ComputeConformance, attention_of_16_bits_is_deterministic_at_any_address) {
  for (const DType dtype : kHalves)
    for (const std::size_t shift : {1, 8})
      expect_same_bits(*device_, *device_, dtype, {2, 70, 2, 64}, shift);
}

TEST_P(ComputeConformance, attention_of_16_bits_is_causal) {
  Values values, others;
  const AttentionSizes sizes{1, 150, 1, 64};
  const Case before = attention_cases(values, DType::bf16, sizes).forward,
             after = attention_cases(others, DType::bf16, sizes).forward;
  const Tensor input = std::get<compute::AttentionForward>(after.op).input;
  std::fill_n(input.as<std::uint16_t>() + 130 * 3 * 64, 20 * 3 * 64, std::uint16_t{0x4040});
  run(*device_, before.op);
  run(*device_, after.op);
  const Tensor one = before.results[0].second, other = after.results[0].second;
  EXPECT_EQ(std::memcmp(one.data, other.data, 130 * 64 * 2), 0);
  EXPECT_NE(std::memcmp(one.data + 130 * 64 * 2, other.data + 130 * 64 * 2, 64 * 2), 0);
}

// A sum of exponentials that overflow if nothing is taken from the scores first.
TEST_P(ComputeConformance, attention_of_16_bits_is_finite_for_scores_that_would_overflow) {
  Values values;
  const AttentionCases cases = attention_cases(values, DType::bf16, {1, 70, 1, 32, 100});
  for (const Case& one : {cases.forward, cases.backward}) {
    run(*device_, one.op);
    for (std::int64_t i = 0; i < one.results[0].second.elements(); ++i)
      ASSERT_TRUE(std::isfinite(element(one.results[0].second, i))) << i;
  }
}

TEST_P(ComputeConformance, attention_of_16_bits_enqueue_allocates_nothing) {
  const auto queue = device_->make_queue();
  Values values;
  const AttentionCases cases = attention_cases(values, DType::fp16, {1, 40, 2, 32});
  for (const Case& one : {cases.forward, cases.backward}) {
    auto kernel = device_->prepare(one.op);
    ASSERT_TRUE(kernel) << base::to_string(kernel.error());
    (*kernel)->enqueue(*queue);  // a queue may set up once
    const long before = allocations;
    for (int i = 0; i < 10; ++i) (*kernel)->enqueue(*queue);
    EXPECT_LE(allocations - before, 10 * GetParam().library_allocations);
    ASSERT_TRUE(compute::finish(*queue)) << "the object it was created from still exists";
  }
}

}  // namespace trainyard::conformance
