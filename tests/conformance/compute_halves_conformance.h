// SPDX-License-Identifier: GPL-3.0-or-later
// Requirements on every Compute for 16-bit tensors (core/compute/half_precision.h): it computes in
// fp32 and rounds once, at the end.
#pragma once

#include "core/compute/half_precision.h"
#include "tests/conformance/compute_tf32_conformance.h"

namespace trainyard::conformance {

inline const std::vector<Sizes> kHalfSizes = {{1, 1, 1},   {0, 7, 5},    {5, 8, 8},
                                              {7, 17, 33}, {33, 5, 100}, {129, 130, 131}};
inline constexpr DType kHalves[] = {DType::bf16, DType::fp16};

// Parameters of products only; what names rows of a table, and what is a sum for parameters, stay
// fp32.
template <class OneOp>
bool may_be_half(const OneOp& op, const Tensor& tensor) {
  const auto is = [&](const Tensor& other) { return tensor.data == other.data; };
  if constexpr (std::is_same_v<OneOp, compute::SumRows>) return is(op.input);
  if constexpr (requires {
                  op.table;
                  op.samples;
                })
    return true;
  else if constexpr (
      requires { op.table; } || requires { op.table_gradient; })
    return !is(op.input);
  else if constexpr (requires {
                       op.weight;
                       op.epsilon;
                       op.bias;
                     })
    return !is(op.weight) && !is(op.bias);
  else if constexpr (requires {
                       op.weight;
                       op.epsilon;
                     })
    return !is(op.weight);
  else return true;
}

// True if an op passes data between layers.
template <class OneOp>
constexpr bool kPasses =
    !std::is_same_v<OneOp, compute::Scale> && !std::is_same_v<OneOp, compute::WeightedSum> &&
    !std::is_same_v<OneOp, compute::SquaredNorm> &&
    !std::is_same_v<OneOp, compute::CompressGradient> &&
    !std::is_same_v<OneOp, compute::DecompressGradient>;

// The case on tensors of 16 bits, rounded from its own. False: it has none.
inline bool halve(Case& made, DType dtype, Values& values) {
  bool any = false;
  std::visit(
      [&](auto& op) {
        if constexpr (kPasses<std::decay_t<decltype(op)>>) {
          std::vector<std::pair<std::byte*, Tensor>> known;
          const auto original = op;
          compute::for_each_activation(op, [&](Tensor& tensor, compute::Use) {
            if (tensor.dtype != DType::fp32 || tensor.data == nullptr ||
                !may_be_half(original, tensor))
              return;
            auto at = std::find_if(known.begin(), known.end(),
                                   [&](const auto& one) { return one.first == tensor.data; });
            if (at == known.end()) {
              const Tensor half = values.zeros(dtype, tensor.shape);
              compute::round(dtype, tensor.as<float>(), half.data, tensor.elements());
              at = known.insert(at, {tensor.data, half});
            }
            tensor = {dtype, tensor.shape, at->second.data};
            any = true;
          });
          for (auto& [name, result] : made.results)
            for (const auto& [before, half] : known)
              if (result.data == before) result = {dtype, result.shape, half.data};
        }
      },
      made.op);
  return any;
}

// The cases that pass values on, with 16 bits.
inline std::vector<NamedCase> half_cases(DType dtype) {
  std::vector<NamedCase> cases;
  for (const NamedCase& named : all_cases()) {
    Values values;
    Case made = named.make(values, DType::fp32, {2, 3, 4});
    if (halve(made, dtype, values))
      cases.push_back({named.name + " of " + std::string(base::name_of(dtype)),
                       [make = named.make, dtype](Values& of, DType, const Sizes& size) {
                         Case one = make(of, DType::fp32, size);
                         halve(one, dtype, of);
                         return one;
                       }});
  }
  return cases;
}

// Distance from a number to the next one of its format.
inline double spacing(DType dtype, double value) {
  const int bits = dtype == DType::bf16 ? 8 : 11, least = dtype == DType::bf16 ? -133 : -24;
  return value == 0 ? std::ldexp(1.0, least)
                    : std::ldexp(1.0, std::max(std::ilogb(value) + 1 - bits, least));
}

// If sums of two devices differ in their last bits, a few results may round to adjacent numbers,
// but not further.
inline void expect_rounded_once(const Tensor& found, const Tensor& expected, const char* what) {
  if (!compute::is_half(found.dtype))
    return expect_near(found, expected, tolerance(DType::fp32), what);
  double largest = 0;
  for (std::int64_t i = 0; i < expected.elements(); ++i)
    largest = std::max(largest, std::abs(element(expected, i)));
  std::int64_t differ = 0;
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    const double one = element(found, i), other = element(expected, i);
    ASSERT_LE(std::abs(one - other),
              spacing(expected.dtype, other) + tolerance(DType::fp32) * largest)
        << what << "[" << i << "]";
    differ += one != other && spacing(expected.dtype, other) > 20 * tolerance(DType::fp32) * largest
                  ? 1
                  : 0;
  }
  EXPECT_LE(differ, 2 + expected.elements() / 50) << what << ", of " << expected.elements();
}

TEST_P(ComputeConformance, ops_on_16_bits_equal_the_reference_for_every_size) {
  ASSERT_GE(half_cases(DType::bf16).size(), 40u);
  for (const DType dtype : kHalves)
    for (const Sizes& sizes : kHalfSizes)
      for (const NamedCase& named : half_cases(dtype)) {
        SCOPED_TRACE(named.name + ", " + to_text(sizes));
        Values mine, its;
        const Case found = named.make(mine, dtype, sizes), expected = named.make(its, dtype, sizes);
        run(*device_, found.op);
        run(*reference_, expected.op);
        for (std::size_t r = 0; r < found.results.size(); ++r)
          expect_rounded_once(found.results[r].second, expected.results[r].second,
                              found.results[r].first);
      }
}

TEST_P(ComputeConformance, ops_on_16_bits_are_deterministic_at_any_address) {
  for (const DType dtype : kHalves)
    for (const NamedCase& named : half_cases(dtype)) expect_same_bits(*device_, named);
}

TEST_P(ComputeConformance, enqueue_on_16_bits_allocates_nothing) {
  const auto queue = device_->make_queue();
  for (const DType dtype : kHalves)
    for (const NamedCase& named : half_cases(dtype)) {
      Values values;
      auto kernel = device_->prepare(named.make(values, dtype, {33, 40, 24}).op);
      ASSERT_TRUE(kernel) << base::to_string(kernel.error());
      (*kernel)->enqueue(*queue);  // a queue may set up once
      const long before = allocations;
      for (int i = 0; i < 10; ++i) (*kernel)->enqueue(*queue);
      EXPECT_LE(allocations - before, 10 * GetParam().library_allocations) << named.name;
      ASSERT_TRUE(compute::finish(*queue)) << "the object it was created from still exists";
    }
}

// Ops that share memory for what they widen, in any order of sizes.
TEST_P(ComputeConformance, ops_on_16_bits_on_one_queue_are_independent) {
  const auto queue = device_->make_queue();
  Values mine, its;
  std::vector<Case> found, expected;
  std::vector<std::unique_ptr<compute::Kernel>> kernels;
  for (const std::int64_t batch : {3, 70, 5})
    for (const NamedCase& named : half_cases(DType::fp16)) {
      found.push_back(named.make(mine, DType::fp16, {batch, 40, 24}));
      expected.push_back(named.make(its, DType::fp16, {batch, 40, 24}));
      kernels.push_back(std::move(device_->prepare(found.back().op).value()));
      run(*reference_, expected.back().op);
    }
  for (const auto& kernel : kernels) kernel->enqueue(*queue);
  ASSERT_TRUE(compute::finish(*queue));
  for (std::size_t c = 0; c < found.size(); ++c)
    for (std::size_t r = 0; r < found[c].results.size(); ++r)
      expect_rounded_once(found[c].results[r].second, expected[c].results[r].second,
                          found[c].results[r].first);
}

TEST_P(ComputeConformance, copy_rounds_and_widens) {
  for (const DType dtype : kHalves) {
    Values values;
    const Tensor numbers = values.uniform(DType::fp32, {97}, -3, 3),
                 halves = values.zeros(dtype, {97}), back = values.zeros(DType::fp32, {97});
    run(*device_, compute::Copy{numbers, halves});
    run(*device_, compute::Copy{halves, back});
    for (std::int64_t i = 0; i < 97; ++i) {
      EXPECT_EQ(element(back, i), element(halves, i));
      EXPECT_LE(std::abs(element(halves, i) - element(numbers, i)),
                spacing(dtype, element(numbers, i)) / 2)
          << i;
    }
  }
}

TEST_P(ComputeConformance, load_rounds_to_16_bits) {
  Values values;
  const std::vector<float> source = {0, 1, 1 + 0x1p-8F, 1 + 0x1p-12F, 70000};
  for (const DType dtype : kHalves) {
    const Tensor loaded = values.zeros(dtype, {5});
    device_->load(loaded, source);
    std::vector<std::byte> expected(10);
    compute::round(dtype, source.data(), expected.data(), 5);
    EXPECT_EQ(std::memcmp(loaded.data, expected.data(), 10), 0);
  }
}

// The gradient of a weight is not rounded, nor summed in 16 bits; an output is, and once.
TEST_P(ComputeConformance, product_of_16_bits_is_rounded_only_as_an_activation) {
  Values values;
  const auto filled = [&](DType dtype, Shape shape, float value) {
    const Tensor tensor = values.zeros(dtype, shape);
    const std::vector<float> all(static_cast<std::size_t>(tensor.elements()), value);
    device_->load(tensor, all);
    return tensor;
  };
  const float odd = 1 + 0x1p-7F;
  const Tensor left = filled(DType::bf16, {1, 1}, odd), right = filled(DType::bf16, {1, 1}, odd);
  const Tensor output = values.zeros(DType::bf16, {1, 1}),
               weight = values.zeros(DType::fp32, {1, 1}), bias = values.zeros(DType::fp32, {1});
  run(*device_, compute::LinearForward{left, right, {}, output});
  EXPECT_EQ(element(output, 0), 1 + 0x1p-6) << "1 + 2^-6 + 2^-14";
  run(*device_, compute::LinearBackwardWeight{left, right, weight, bias, {}});
  EXPECT_EQ(element(weight, 0), 1 + 0x1p-6 + 0x1p-14);
  EXPECT_EQ(element(bias, 0), odd);
  const Tensor rows = filled(DType::bf16, {300, 1}, 1), many = filled(DType::bf16, {300, 1}, odd);
  run(*device_, compute::LinearBackwardWeight{rows, many, weight, bias, {}});
  EXPECT_EQ(element(weight, 0), 300 * (1 + 0x1p-7)) << "in 8 bits a sum of ones ends at 256";
  EXPECT_EQ(element(bias, 0), 300 * (1 + 0x1p-7));
}

TEST_P(ComputeConformance, persistent_parameters_of_16_bits_are_refused) {
  Values values;
  Case update = sgd_update(values, DType::fp32, {2, 3, 4}, 0);
  compute::UpdateInputs& common = common_of(update.op);
  common.parameters = common.gradient = values.zeros(DType::bf16, common.parameters.shape);
  EXPECT_FALSE(device_->prepare(update.op));
  const Tensor half = values.zeros(DType::fp16, {3}), other = values.zeros(DType::fp64, {3});
  EXPECT_FALSE(device_->prepare(compute::Copy{half, other}));
}

}  // namespace trainyard::conformance
