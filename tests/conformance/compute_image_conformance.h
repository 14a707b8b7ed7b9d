// SPDX-License-Identifier: GPL-3.0-or-later
// Requirements on every Compute for images, and for ops between layers.
#pragma once

#include "tests/conformance/compute_image_gradients.h"
#include "tests/conformance/compute_transformer_gradients.h"

namespace trainyard::conformance {

TEST_P(ComputeConformance, image_ops_equal_the_reference_for_every_size) {
  for (const DType dtype : {DType::fp32, DType::fp64})
    for (const ImageSizes& sizes : kImages)
      for (const NamedImageCase& named : image_cases())
        compare(*device_, *reference_, named, dtype, sizes);
}

TEST_P(ComputeConformance, convolution_weight_gradient_is_zero_without_samples) {
  for (const DType dtype : {DType::fp32, DType::fp64}) {
    Values values;
    const Case made = conv2d_backward_weight(values, dtype, {0, 5, 4, 3, 2, {3, 1, 1}});
    run(*device_, made.op);
    for (const auto& [name, result] : made.results)
      for (std::int64_t i = 0; i < result.elements(); ++i) EXPECT_EQ(element(result, i), 0) << name;
  }
}

// NaN must spread, so that a run shows immediately that it diverged. The sums are those of other
// ranks: two samples of mean 3 and variance 4.
TEST_P(ComputeConformance, batch_normalization_without_samples_uses_the_sums_of_others) {
  for (const DType dtype : {DType::fp32, DType::fp64}) {
    Values values;
    const Tensor input = values.zeros(dtype, {0, 1}), output = values.zeros(dtype, {0, 1}),
                 running = values.zeros(dtype, {2, 1});
    const Tensor weight = values.uniform(dtype, {1}), bias = values.uniform(dtype, {1}),
                 sums = values.zeros(DType::fp64, {3});
    run(*device_, compute::BatchNormSums{input, sums});
    for (int i = 0; i < 3; ++i) EXPECT_EQ(element(sums, i), 0);
    const compute::BatchNormForward forward{
        input, weight, bias, sums, running, output, 1e-5, 0.5, compute::Activation::none};
    run(*device_, forward);
    EXPECT_EQ(element(running, 0), 0) << "no rank has samples";
    sums.as<double>()[0] = 6, sums.as<double>()[1] = 26, sums.as<double>()[2] = 2;
    run(*device_, forward);
    EXPECT_EQ(element(running, 0), 1.5);
    EXPECT_EQ(element(running, 1), 4);  // half of the unbiased variance
  }
}

TEST_P(ComputeConformance, image_ops_keep_nan) {
  for (const std::int64_t place : {0, 5, 15}) {
    Values values;
    const Tensor input = values.zeros(DType::fp32, {1, 4, 4, 1}),
                 output = values.zeros(DType::fp32, {1, 1, 1, 1}),
                 sum = values.zeros(DType::fp32, {1, 4, 4, 1});
    set_element(input, place, std::numeric_limits<double>::quiet_NaN());
    run(*device_, compute::PoolForward{input, output, {4, 1, 0}, compute::Pooling::maximum});
    EXPECT_TRUE(std::isnan(element(output, 0))) << place;
    run(*device_, compute::Add{input, input, sum, compute::Activation::none});
    EXPECT_TRUE(std::isnan(element(sum, place))) << place;
  }
}

TEST_P(ComputeConformance, max_pooling_gives_the_gradient_to_the_first_of_equal_pixels) {
  Values values;
  const Tensor input = values.zeros(DType::fp32, {1, 2, 2, 1}),
               output = values.zeros(DType::fp32, {1, 1, 1, 1}),
               gradient = values.zeros(DType::fp32, {1, 1, 1, 1});
  const Tensor result = values.uniform(DType::fp32, {1, 2, 2, 1});
  set_element(gradient, 0, 3);
  run(*device_,
      compute::PoolBackward{input, output, gradient, result, {2, 2, 0}, compute::Pooling::maximum});
  for (int i = 0; i < 4; ++i) EXPECT_EQ(element(result, i), i == 0 ? 3 : 0) << i;
}

// The result does not depend on the rank that holds the sample, nor on its index in the batch.
TEST_P(ComputeConformance, dropout_of_a_sample_is_the_same_on_every_rank) {
  Values values;
  const Tensor input = values.uniform(DType::fp32, {4, 35}, 1, 2),
               whole = values.zeros(DType::fp32, {4, 35}),
               part = values.zeros(DType::fp32, {2, 35});
  const Tensor samples = values.labels(4, 1000), step = values.scalar(9);
  const Tensor half{DType::fp32, {2, 35}, input.data + 2 * 35 * 4},
      its_samples{DType::int32, {2}, samples.data + 8};
  run(*device_, compute::Dropout{input, whole, samples, step, 1, 2, 0.5});
  run(*device_, compute::Dropout{half, part, its_samples, step, 1, 2, 0.5});
  EXPECT_EQ(std::memcmp(part.data, whole.data + 2 * 35 * 4, static_cast<std::size_t>(part.bytes())),
            0);
}

TEST_P(ComputeConformance, dropout_depends_on_step_layer_and_seed) {
  Values values;
  const Tensor input = values.uniform(DType::fp32, {3, 40}, 1, 2),
               first = values.zeros(DType::fp32, {3, 40}),
               other = values.zeros(DType::fp32, {3, 40});
  const Tensor samples = values.labels(3, 1000), step = values.scalar(9), next = values.scalar(10);
  const compute::Dropout op{input, first, samples, step, 1, 2, 0.5};
  run(*device_, op);
  const auto changed = [&](auto change) {
    compute::Dropout again = op;
    again.output = other;
    change(again);
    run(*device_, again);
    return std::memcmp(first.data, other.data, static_cast<std::size_t>(first.bytes())) != 0;
  };
  EXPECT_TRUE(changed([&](compute::Dropout& d) { d.step = next; }));
  EXPECT_TRUE(changed([](compute::Dropout& d) { d.layer = 3; }));
  EXPECT_TRUE(changed([](compute::Dropout& d) { d.seed = 2; }));
  EXPECT_FALSE(changed([](compute::Dropout&) {}));
}

}  // namespace trainyard::conformance
