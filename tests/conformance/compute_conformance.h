// SPDX-License-Identifier: GPL-3.0-or-later
// Requirements on every Compute. A backend joins in its own file:
//
// INSTANTIATE_TEST_SUITE_P(mine, ComputeConformance,
//                          testing::Values(Backend{"mine", [] { return mine::make(); }}));
#pragma once

#include <array>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>

#include "core/compute/reference/reference.h"
#include "core/compute/validate.h"
#include "tests/conformance/compute_cases.h"
#include "tests/conformance/count_allocations.h"
#include "tests/problem_matchers.h"

namespace trainyard::conformance {

struct Backend {
  std::string name;
  std::function<std::unique_ptr<compute::Compute>()> make;
  long library_allocations = 0;  // that a library below is known to make for one op; ours make none
};

class ComputeConformance : public testing::TestWithParam<Backend> {
 protected:
  std::unique_ptr<compute::Compute> device_ = GetParam().make();
  std::unique_ptr<compute::Compute> reference_ = compute::reference::make();
};

inline void PrintTo(const Backend& backend, std::ostream* out) { *out << backend.name; }

inline std::string to_text(const Sizes& s) {
  return "batch " + std::to_string(s.batch) + ", inputs " + std::to_string(s.inputs) +
         ", outputs " + std::to_string(s.outputs);
}

inline std::string to_text(const ImageSizes& s) {
  std::string text = "image";
  for (const std::int64_t number : {s.batch, s.height, s.width, s.channels, s.outputs,
                                    s.window.kernel, s.window.stride, s.window.padding})
    text += " " + std::to_string(number);
  return text;
}

template <class AnyCase, class AnySizes>
void compare(compute::Compute& device, compute::Compute& reference, const AnyCase& named,
             DType dtype, const AnySizes& sizes, double relative) {
  SCOPED_TRACE(named.name + " of " + std::string(base::name_of(dtype)) + ", " + to_text(sizes));
  Values mine, its;
  const Case found = named.make(mine, dtype, sizes), expected = named.make(its, dtype, sizes);
  run(device, found.op);
  run(reference, expected.op);
  for (std::size_t r = 0; r < found.results.size(); ++r)
    expect_near(found.results[r].second, expected.results[r].second, relative,
                found.results[r].first);
}
template <class AnyCase, class AnySizes>
void compare(compute::Compute& device, compute::Compute& reference, const AnyCase& named,
             DType dtype, const AnySizes& sizes) {
  compare(device, reference, named, dtype, sizes, tolerance(dtype));
}

// Run again, wherever its tensors lie.
inline void expect_same_bits(compute::Compute& device, const NamedCase& named) {
  Values first, shifted(1, 2);
  const Case a = named.make(first, DType::fp32, {31, 63, 65}),
             b = named.make(shifted, DType::fp32, {31, 63, 65});
  run(device, a.op);
  run(device, b.op);
  for (std::size_t r = 0; r < a.results.size(); ++r)
    EXPECT_EQ(std::memcmp(a.results[r].second.data, b.results[r].second.data,
                          static_cast<std::size_t>(a.results[r].second.bytes())),
              0)
        << named.name << " " << a.results[r].first;
}

TEST_P(ComputeConformance, every_op_equals_the_reference_for_every_size) {
  for (const DType dtype : {DType::fp32, DType::fp64})
    for (const Sizes& sizes : kSizes)
      for (const NamedCase& named : all_cases())
        compare(*device_, *reference_, named, dtype, sizes);
}

TEST_P(ComputeConformance, ops_are_deterministic_at_any_address) {
  for (const NamedCase& named : all_cases()) expect_same_bits(*device_, named);
}

TEST_P(ComputeConformance, enqueue_allocates_nothing) {
  const auto queue = device_->make_queue();
  for (const DType dtype : {DType::fp32, DType::fp64})
    for (const NamedCase& named : all_cases()) {
      Values values;
      const Case made = named.make(values, dtype, {33, 40, 24});
      auto kernel = device_->prepare(made.op);
      ASSERT_TRUE(kernel) << base::to_string(kernel.error());
      (*kernel)->enqueue(*queue);  // a queue may set up once
      const long before = allocations;
      for (int i = 0; i < 10; ++i) (*kernel)->enqueue(*queue);
      EXPECT_LE(allocations - before, 10 * GetParam().library_allocations) << named.name;
      ASSERT_TRUE(compute::finish(*queue)) << "the object it was created from still exists";
    }
}

TEST_P(ComputeConformance, weight_gradient_is_zero_without_samples) {
  Values values;
  const Case made = linear_backward_weight(values, DType::fp32, {0, 6, 4});
  run(*device_, made.op);
  for (const auto& [name, result] : made.results)
    for (std::int64_t i = 0; i < result.elements(); ++i) EXPECT_EQ(element(result, i), 0) << name;
}

TEST_P(ComputeConformance, prediction_is_the_first_of_equal_logits) {
  Values values;
  const Tensor logits = values.zeros(DType::fp32, {3, 4}), labels = values.zeros(DType::int32, {3}),
               metrics = values.zeros(DType::fp64, {2});
  set_element(labels, 1, 1);
  run(*device_, compute::SoftmaxCrossEntropy{logits, labels, {}, metrics, 1});
  EXPECT_NEAR(element(metrics, 0), 3 * std::log(4.0), 1e-6);
  EXPECT_EQ(element(metrics, 1), 2);
}

TEST_P(ComputeConformance, loss_is_finite_for_logits_that_would_overflow) {
  Values values;
  const Tensor logits = values.zeros(DType::fp32, {1, 2}), labels = values.zeros(DType::int32, {1}),
               metrics = values.zeros(DType::fp64, {2});
  set_element(logits, 1, 10000);
  run(*device_, compute::SoftmaxCrossEntropy{logits, labels, {}, metrics, 1});
  EXPECT_DOUBLE_EQ(element(metrics, 0), 10000);
}

TEST_P(ComputeConformance, loss_is_nan_for_an_invalid_label) {
  for (const double label : {-1.0, 2.0}) {
    Values values;
    const Tensor logits = values.zeros(DType::fp32, {1, 2}),
                 labels = values.zeros(DType::int32, {1}), metrics = values.zeros(DType::fp64, {2});
    set_element(labels, 0, label);
    run(*device_, compute::SoftmaxCrossEntropy{logits, labels, values.zeros(DType::fp32, {1, 2}),
                                               metrics, 1});
    EXPECT_TRUE(std::isnan(element(metrics, 0))) << label;
  }
}

// Three parts of 2, 3 and 2 classes, of which each has its summary, against all seven in one.
TEST_P(ComputeConformance, sharded_softmax_equals_full_softmax) {
  constexpr std::int64_t kRows = 5, kClasses = 7, kFirst[] = {0, 2, 5, 7};
  Values values;
  const Tensor logits = values.uniform(DType::fp64, {kRows, kClasses}, -20, 20),
               labels = values.labels(kRows, kClasses);
  set_element(logits, 2, element(logits, 6));  // of equal ones the first counts
  const Tensor gradient = values.zeros(DType::fp64, {kRows, kClasses}),
               metrics = values.zeros(DType::fp64, {2});
  run(*device_, compute::SoftmaxCrossEntropy{logits, labels, gradient, metrics, 0.25, 0.5});
  const Tensor summaries = values.zeros(DType::fp64, {3, 4, kRows});
  std::vector<Tensor> parts;
  for (int part = 0; part < 3; ++part) {
    const std::int64_t first = kFirst[part], count = kFirst[part + 1] - first;
    parts.push_back(values.zeros(DType::fp64, {kRows, count}));
    run(*device_, compute::CopyColumns{logits, parts.back(), first, 0, count});
    const Tensor own{
        DType::fp64, {4, kRows}, summaries.data + part * 4 * kRows * base::size_of(DType::fp64)};
    run(*device_, compute::SoftmaxSummary{parts.back(), labels, own, first, kClasses});
  }
  for (int part = 0; part < 3; ++part) {
    const Tensor own = values.zeros(DType::fp64, parts[static_cast<std::size_t>(part)].shape),
                 of_part = values.zeros(DType::fp64, {2});
    run(*device_,
        compute::SoftmaxCrossEntropyPart{parts[static_cast<std::size_t>(part)], labels, summaries,
                                         own, of_part, kFirst[part], 0.25, 0.5});
    for (std::int64_t m = 0; m < 2; ++m)
      EXPECT_NEAR(element(of_part, m), element(metrics, m), 1e-12 * std::abs(element(metrics, m)));
    const std::int64_t count = own.shape[1];
    for (std::int64_t i = 0; i < own.elements(); ++i)
      EXPECT_NEAR(element(own, i),
                  element(gradient, i / count * kClasses + kFirst[part] + i % count), 1e-14)
          << part << ", " << i;
  }
}

TEST_P(ComputeConformance, gradient_below_the_maximum_norm_is_not_clipped) {
  Values values;
  const Tensor squared = values.zeros(DType::fp64, {2}), factor = values.scalar(-1);
  set_element(squared, 0, 9);
  set_element(squared, 1, 16);
  run(*device_, compute::ClipFactor{squared, factor, 5.5});
  EXPECT_EQ(element(factor, 0), 1);
  run(*device_, compute::ClipFactor{squared, factor, 1});
  EXPECT_DOUBLE_EQ(element(factor, 0), 1 / (5 + 1e-6));
  run(*device_, compute::ClipFactor{squared, factor, std::numeric_limits<double>::infinity()});
  EXPECT_EQ(element(factor, 0), 1);
}

TEST_P(ComputeConformance, gradient_without_a_finite_norm_is_not_clipped_and_can_be_skipped) {
  for (const double norm :
       {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    Values values;
    const Tensor squared = values.zeros(DType::fp64, {2}), factor = values.scalar(-1);
    set_element(squared, 1, norm);
    run(*device_, compute::ClipFactor{squared, factor, 1});
    EXPECT_TRUE(std::isnan(element(factor, 0)));
    run(*device_, compute::ClipFactor{squared, factor, 1, true});
    EXPECT_EQ(element(factor, 0), 0);
  }
}

inline std::vector<std::byte> bytes(const Tensor& tensor) {
  return {tensor.data, tensor.data + tensor.bytes()};
}

// `common` is that of the case's op.
inline void expect_skipped(compute::Compute& device, const Case& update,
                           const compute::UpdateInputs& common) {
  set_element(common.factor, 0, 0);
  set_element(common.gradient, 0, std::numeric_limits<double>::quiet_NaN());
  double squares = 0;
  for (std::int64_t i = 0; i < common.parameters.elements(); ++i)
    squares += element(common.parameters, i) * element(common.parameters, i);
  std::vector<std::vector<std::byte>> before;
  for (const auto& [name, result] : update.results) before.push_back(bytes(result));
  run(device, update.op);
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (update.results[i].second.data == common.statistics.data) continue;
    EXPECT_EQ(bytes(update.results[i].second), before[i]) << update.results[i].first;
  }
  EXPECT_TRUE(std::isnan(element(common.statistics, 0)));
  EXPECT_EQ(element(common.statistics, 1), 0);
  EXPECT_NEAR(element(common.statistics, 2), squares, 1e-6 * squares);
}

TEST_P(ComputeConformance, update_with_factor_0_changes_neither_parameters_nor_moments) {
  for (const DType dtype : {DType::fp32, DType::fp64}) {
    Values values;
    const Case sgd = sgd_update(values, dtype, {3, 4, 5}, 0.9),
               adam = adam_update(values, dtype, {3, 4, 5}, true);
    expect_skipped(*device_, sgd, std::get<compute::SgdUpdate>(sgd.op).common);
    expect_skipped(*device_, adam, std::get<compute::AdamUpdate>(adam.op).common);
  }
}

// Only what the step would be taken from counts then.
TEST_P(ComputeConformance, update_with_factor_0_returns_its_origin) {
  for (const DType dtype : {DType::fp32, DType::fp64})
    for (const NamedCase& named : update_cases()) {
      Values values;
      const Case update = from_origin(values, named.make(values, dtype, {3, 4, 5}));
      Case skipped = update;
      compute::UpdateInputs& common = common_of(skipped.op);
      common.factor = values.scalar(0);
      const auto origin = bytes(common.origin);
      double moved = 0;
      for (std::int64_t i = 0; i < common.parameters.elements(); ++i)
        moved += std::pow(element(common.origin, i) - element(common.parameters, i), 2);
      run(*device_, skipped.op);
      EXPECT_EQ(bytes(common.parameters), origin) << named.name;
      EXPECT_NEAR(element(common.statistics, 1), moved, 1e-6 * moved) << named.name;
    }
}

// Uses the factor of the case or another one.
inline void expect_same_elsewhere(compute::Compute& device, const NamedCase& named, DType dtype,
                                  const Sizes& sizes, std::optional<double> factor) {
  SCOPED_TRACE(named.name + " of " + std::string(base::name_of(dtype)) + ", " + to_text(sizes) +
               (factor ? ", factor " + std::to_string(*factor) : ""));
  Values here, there;
  Case in_place = named.make(here, dtype, sizes),
       apart = elsewhere(there, named.make(there, dtype, sizes));
  if (factor) common_of(in_place.op).factor = common_of(apart.op).factor = here.scalar(*factor);
  const Tensor parameters = common_of(apart.op).parameters;
  const auto old = bytes(parameters);
  run(device, in_place.op);
  run(device, apart.op);
  EXPECT_EQ(bytes(parameters), old);
  for (std::size_t r = 0; r < apart.results.size(); ++r)
    EXPECT_EQ(bytes(apart.results[r].second), bytes(in_place.results[r].second))
        << apart.results[r].first;
}

TEST_P(ComputeConformance, out_of_place_update_is_bit_identical_and_keeps_the_old_parameters) {
  for (const DType dtype : {DType::fp32, DType::fp64})
    for (const Sizes& sizes : kSizes)
      for (const NamedCase& named : update_cases())
        for (const std::optional<double> factor : {std::optional<double>{}, {0.5}, {0.0}})
          expect_same_elsewhere(*device_, named, dtype, sizes, factor);
}

template <class T>
void expect_sum(compute::Compute& device, DType dtype, std::size_t count, std::int64_t elements) {
  Values values;
  std::vector<Tensor> tensors;
  for (std::size_t s = 0; s < count; ++s)
    tensors.push_back(values.uniform(dtype, {elements}, -1e3, 1e3));
  std::vector<T> expected(tensors[0].as<T>(), tensors[0].as<T>() + elements);
  for (std::size_t s = 1; s < count; ++s)
    for (std::int64_t i = 0; i < elements; ++i)
      expected[static_cast<std::size_t>(i)] += tensors[s].as<T>()[i];
  std::vector<const std::byte*> sources;
  for (const Tensor& tensor : tensors) sources.push_back(tensor.data);
  device.sum(dtype, tensors[count - 1].data, sources,
             elements);  // into the last source, as a collective may
  for (std::int64_t i = 0; i < elements; ++i)
    ASSERT_EQ(tensors[count - 1].as<T>()[i], expected[static_cast<std::size_t>(i)]) << i;
}

TEST_P(ComputeConformance, integer_sums_wrap_around) {
  const std::int32_t most = std::numeric_limits<std::int32_t>::max(), two = 2;
  Values values;
  const Tensor sum = values.zeros(DType::int32, {1});
  const std::array sources{reinterpret_cast<const std::byte*>(&most),
                           reinterpret_cast<const std::byte*>(&two)};  // a message may lie anywhere
  device_->sum(DType::int32, sum.data, sources, 1);
  EXPECT_EQ(*sum.as<std::int32_t>(), std::numeric_limits<std::int32_t>::min() + 1);
}

TEST_P(ComputeConformance, sum_adds_in_the_given_order_bit_for_bit) {
  for (const std::size_t count : {1U, 2U, 3U, 8U, 300U})
    for (const std::int64_t elements : {0, 1, 7, 8, 9, 100, 4097}) {
      expect_sum<float>(*device_, DType::fp32, count, elements);
      expect_sum<double>(*device_, DType::fp64, count, elements);
      expect_sum<std::int32_t>(*device_, DType::int32, count, elements);
    }
}

TEST_P(ComputeConformance, load_converts_and_copy_copies) {
  Values values;
  const std::vector<float> source = {0, 1, 2.5F, -3};
  for (const DType dtype : {DType::fp32, DType::fp64, DType::int32}) {
    const Tensor loaded = values.zeros(dtype, {4}), copied = values.zeros(dtype, {4});
    device_->load(loaded, source);
    device_->copy(copied.data, loaded.data, loaded.bytes());
    for (std::int64_t i = 0; i < 4; ++i)
      EXPECT_EQ(element(copied, i), dtype == DType::int32
                                        ? std::trunc(source[static_cast<std::size_t>(i)])
                                        : source[static_cast<std::size_t>(i)]);
  }
}

// Wherever the bytes lie.
TEST_P(ComputeConformance, load_of_bytes_equals_load_of_their_values) {
  Values values;
  std::array<float, 256> value_of{};
  for (std::size_t b = 0; b < value_of.size(); ++b)
    value_of[b] = (static_cast<float>(b) - 46.3F) / 66.1F;
  for (const DType dtype : {DType::fp32, DType::fp64, DType::bf16, DType::fp16, DType::int32})
    for (const std::int64_t count : {0, 1, 3, 4, 259, 4096})
      for (const bool at_hand : {false, true}) {
        const compute::Memory bytes =
            at_hand ? device_->allocate_host_visible(count + 1, "test").value()
                    : compute::allocate(count + 1, "test").value();
        const std::span<std::uint8_t> coded(
            reinterpret_cast<std::uint8_t*>(bytes.get()) + count % 2,
            static_cast<std::size_t>(count));
        std::vector<float> meant;
        for (std::size_t i = 0; i < coded.size(); ++i)
          meant.push_back(value_of[coded[i] = static_cast<std::uint8_t>(i * 37 + 200)]);
        const Tensor found = values.zeros(dtype, {count}), expected = values.zeros(dtype, {count});
        device_->load_bytes(found, coded, value_of);
        device_->load(expected, meant);
        for (std::int64_t i = 0; i < count; ++i)
          ASSERT_EQ(element(found, i), element(expected, i)) << base::name_of(dtype) << " " << i;
      }
}

TEST_P(ComputeConformance, invalid_ops_are_refused_by_name) {
  Values values;
  auto made = linear_forward(values, DType::fp32, {4, 3, 2}, compute::Activation::none);
  std::get<compute::LinearForward>(made.op).weight.shape = {2, 5};
  const auto kernel = device_->prepare(made.op);
  ASSERT_FALSE(kernel);
  EXPECT_THAT(kernel.error(),
              testing::AllOf(base::IsProblem("bad_op", "linear_forward"), base::Reports("weight"),
                             base::Reports("fp32 [2, 5]"), base::Accepts("fp32 [2, 3]")));
}

TEST_P(ComputeConformance, queue_reaches_its_marks_in_order) {
  const auto queue = device_->make_queue();
  const auto first = queue->record(), second = queue->record();
  EXPECT_LT(first, second);
  while (!queue->reached(second)) {
  }
  EXPECT_TRUE(queue->reached(first));
}

}  // namespace trainyard::conformance
