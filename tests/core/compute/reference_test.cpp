// SPDX-License-Identifier: GPL-3.0-or-later
// The oracle against numbers worked by hand or taken from the published rule.
#include "core/compute/reference/reference.h"

#include "core/compute/ops.h"
#include "tests/conformance/compute_values.h"

namespace trainyard::compute {
namespace {

using conformance::element;
using conformance::set_element;
using conformance::Values;

Tensor vector_of(Values& values, std::initializer_list<double> numbers) {
  const Tensor tensor = values.zeros(DType::fp64, {static_cast<std::int64_t>(numbers.size())});
  std::int64_t i = 0;
  for (const double number : numbers) set_element(tensor, i++, number);
  return tensor;
}

Tensor shaped(Tensor tensor, Shape shape) {
  tensor.shape = shape;
  return tensor;
}

void expect_values(const Tensor& tensor, std::initializer_list<double> numbers) {
  std::int64_t i = 0;
  for (const double number : numbers) {
    EXPECT_NEAR(element(tensor, i), number, 1e-14) << i;
    ++i;
  }
}

void run(const Op& op) { conformance::run(*reference::make(), op); }

TEST(reference, linear_layer_multiplies_by_the_transposed_weight_and_adds_the_bias) {
  Values values;
  const Tensor input = shaped(vector_of(values, {1, 2, 3, -1, 0, 1}), {2, 3}),
               weight = shaped(vector_of(values, {1, 0, 2, -1, 1, 0}), {2, 3});
  const Tensor bias = vector_of(values, {0.5, -4}), output = values.zeros(DType::fp64, {2, 2});
  run(LinearForward{input, weight, bias, output, Activation::none});
  expect_values(output, {7.5, -3, 1.5, -3});
  run(LinearForward{input, weight, bias, output, Activation::relu});
  expect_values(output, {7.5, 0, 1.5, 0});
}

// A 3 x 3 image under a 2 x 2 window: [1 2 3; 4 5 6; 7 8 9] against [1 0; 0 -1] with bias 10.
TEST(reference, convolution_slides_its_weight_over_the_image) {
  Values values;
  const Tensor input = shaped(vector_of(values, {1, 2, 3, 4, 5, 6, 7, 8, 9}), {1, 3, 3, 1}),
               weight = shaped(vector_of(values, {1, 0, 0, -1}), {1, 1, 2, 2});
  const Tensor bias = vector_of(values, {10}), whole = values.zeros(DType::fp64, {1, 2, 2, 1}),
               padded = values.zeros(DType::fp64, {1, 2, 2, 1});
  run(Conv2dForward{input, weight, bias, whole, {2, 1, 0}, Activation::none});
  expect_values(whole, {6, 6, 6, 6});
  run(Conv2dForward{
      input, weight, bias, padded, {2, 2, 1}, Activation::none});  // windows at -1 and 1
  expect_values(padded, {10 - 1, 10 - 3, 10 - 7, 5 - 9 + 10});
}

TEST(reference, channels_are_adjacent) {
  Values values;
  const Tensor input = shaped(vector_of(values, {1, 10, 2, 20}), {1, 1, 2, 2}),
               weight = shaped(vector_of(values, {1, 0.5}), {1, 2, 1, 1});
  const Tensor output = values.zeros(DType::fp64, {1, 1, 2, 1});
  run(Conv2dForward{input, weight, vector_of(values, {0}), output, {1, 1, 0}, Activation::none});
  expect_values(output, {6, 12});
}

TEST(reference, pooling_takes_the_maximum_or_the_mean) {
  Values values;
  const Tensor input = shaped(vector_of(values, {1, -2, 3, 4}), {1, 2, 2, 1}),
               output = values.zeros(DType::fp64, {1, 1, 1, 1});
  run(PoolForward{input, output, {2, 2, 0}, Pooling::maximum});
  expect_values(output, {4});
  run(PoolForward{input, output, {2, 2, 0}, Pooling::average});
  expect_values(output, {1.5});
}

// {0, 2} has mean 1 and variance 1; the unbiased one is 2.
TEST(reference, batch_normalization_follows_the_rule_of_torch) {
  Values values;
  const Tensor input = shaped(vector_of(values, {0, 2}), {2, 1}),
               sums = values.zeros(DType::fp64, {3}),
               running = shaped(vector_of(values, {0, 1}), {2, 1});
  const Tensor weight = vector_of(values, {3}), bias = vector_of(values, {5}),
               output = values.zeros(DType::fp64, {2, 1});
  run(BatchNormSums{input, sums});
  expect_values(sums, {2, 4, 2});
  run(BatchNormForward{input, weight, bias, sums, running, output, 1e-30, 0.1, Activation::none});
  expect_values(output, {2, 8});
  expect_values(running, {0.1, 1.1});
  run(BatchNormEvaluate{input, weight, bias, running, output, 1e-30, Activation::none});
  expect_values(output, {5 - 0.1 * 3 / std::sqrt(1.1), 5 + 1.9 * 3 / std::sqrt(1.1)});
}

TEST(reference, dropout_drops_its_fraction_and_scales_the_rest) {
  Values values;
  const Tensor input = values.uniform(DType::fp64, {100, 1000}, 1, 1),
               output = values.zeros(DType::fp64, {100, 1000});
  run(Dropout{input, output, values.labels(100, 1'000'000), values.scalar(1), 1, 0, 0.2});
  std::int64_t dropped = 0;
  for (std::int64_t i = 0; i < output.elements(); ++i) {
    const double kept = element(output, i);
    ASSERT_TRUE(kept == 0 || std::abs(kept - 1.25) < 1e-14);
    dropped += kept == 0 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(dropped) / 1e5, 0.2, 0.005);  // four deviations
}

TEST(reference, softmax_cross_entropy_of_two_classes_is_the_logistic_loss) {
  Values values;
  const Tensor logits = shaped(vector_of(values, {0, 1}), {1, 2}),
               labels = values.zeros(DType::int32, {1}),
               gradient = values.zeros(DType::fp64, {1, 2});
  const Tensor metrics = values.zeros(DType::fp64, {2});
  run(SoftmaxCrossEntropy{logits, labels, gradient, metrics, 2});
  const double p = 1 / (1 + std::exp(-1.0));
  expect_values(metrics, {std::log1p(std::exp(1.0)), 0});
  expect_values(gradient, {-2 * p, 2 * p});
}

TEST(reference, momentum_and_decay_follow_the_rule_of_torch) {
  Values values;
  const Tensor parameters = vector_of(values, {2}), gradient = vector_of(values, {3}),
               moment = vector_of(values, {10}), statistics = values.zeros(DType::fp64, {3});
  run(SgdUpdate{{parameters, gradient, values.scalar(0.1), values.scalar(0.5), statistics},
                moment,
                0.9,
                0.25});
  const double m = 0.9 * 10 + (0.5 * 3 + 0.25 * 2), p = 2 - 0.1 * m;
  expect_values(moment, {m});
  expect_values(parameters, {p});
  expect_values(statistics, {9, (p - 2) * (p - 2), p * p});
}

// After one step from zero moments, Adam moves by the learning rate against the gradient's sign,
// whatever its size.
TEST(reference, adam_moves_by_the_learning_rate_in_the_first_step) {
  for (const double size : {1e-3, 1.0, 1e4}) {
    Values values;
    const Tensor parameters = vector_of(values, {1, 1}),
                 gradient = vector_of(values, {size, -size}), zero = values.zeros(DType::fp64, {2});
    const Tensor first = values.zeros(DType::fp64, {2}),
                 statistics = values.zeros(DType::fp64, {3});
    run(AdamUpdate{{parameters, gradient, values.scalar(0.01), {}, statistics},
                   first,
                   zero,
                   values.scalar(1),
                   0.9,
                   0.999,
                   1e-12,
                   0,
                   false});
    EXPECT_NEAR(element(parameters, 0), 0.99, 1e-9);
    EXPECT_NEAR(element(parameters, 1), 1.01, 1e-9);
  }
}

TEST(reference, decoupled_weight_decay_does_not_change_the_moments) {
  Values values;
  const Tensor parameters = vector_of(values, {4}), gradient = vector_of(values, {0}),
               first = values.zeros(DType::fp64, {1}), second = values.zeros(DType::fp64, {1});
  run(AdamUpdate{{parameters, gradient, values.scalar(0.1), {}, values.zeros(DType::fp64, {3})},
                 first,
                 second,
                 values.scalar(1),
                 0.9,
                 0.999,
                 1e-8,
                 0.5,
                 true});
  expect_values(parameters, {4 * (1 - 0.1 * 0.5)});
  expect_values(first, {0});
}

}  // namespace
}  // namespace trainyard::compute
