// SPDX-License-Identifier: GPL-3.0-or-later
// Models of images: shapes between layers, what does not fit, residual sums.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/compute/ops.h"
#include "core/model/segment_ops.h"
#include "tests/core/model/bad_models.h"
#include "tests/problem_matchers.h"

namespace trainyard::model {
namespace {

using base::IsProblem;
using base::Reports;
using compute::Activation;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr auto kFlatten = LayerKind::flatten;
const Shape kDigit{28, 28, 1};

LayerSpec conv(std::int64_t channels, std::int64_t kernel, std::int64_t padding = 0,
               std::int64_t stride = 0) {
  return {.kind = LayerKind::conv2d,
          .channels = channels,
          .kernel = kernel,
          .stride = stride,
          .padding = padding};
}
LayerSpec pool(std::int64_t kernel, LayerKind kind = LayerKind::max_pool) {
  return {.kind = kind, .kernel = kernel};
}
LayerSpec back(std::int64_t layers) { return {.kind = LayerKind::add, .back = layers}; }
LayerSpec norm() { return {.kind = LayerKind::batch_norm}; }
LayerSpec dropout(double probability) {
  return {.kind = LayerKind::dropout, .probability = probability};
}

// The one of the examples.
const ModelSpec kCnn{{conv(32, 3),
                      {kRelu},
                      pool(2),
                      conv(64, 3),
                      {kRelu},
                      pool(2),
                      {kFlatten},
                      {kLinear, 128},
                      {kRelu},
                      {kLinear}}};
// conv 0, relu 1, conv 2, norm 3, relu 4, conv 5, norm 6, add the relu 1, relu 8.
const ModelSpec kResidual{{conv(8, 3, 1),
                           {kRelu},
                           conv(8, 3, 1),
                           norm(),
                           {kRelu},
                           conv(8, 3, 1),
                           norm(),
                           back(6),
                           {kRelu},
                           pool(4, LayerKind::average_pool),
                           {kFlatten},
                           {kLinear}}};

TEST(ImageModel, derives_shapes_from_the_image) {
  const Model model = build(kCnn, kDigit, 10).value();
  std::vector<std::string> names;
  for (const Segment& segment : model.segments) names.push_back(segment.name);
  EXPECT_THAT(names,
              ElementsAre("0 conv2d 1-32 3x3 relu", "2 max_pool 2x2", "3 conv2d 32-64 3x3 relu",
                          "5 max_pool 2x2", "7 linear 1600-128 relu", "9 linear 128-10"));
  EXPECT_EQ(model.segments[0].output_shape, (Shape{26, 26, 32}));
  EXPECT_EQ(model.segments[3].output_shape, (Shape{5, 5, 64}));
  EXPECT_EQ(model.segments[4].input_shape, (Shape{1600}));
  EXPECT_EQ(model.features, 784);
}

TEST(ImageModel, has_parameters_only_in_layers_with_weights) {
  const Model model = build(kCnn, kDigit, 10).value();
  EXPECT_EQ(model.elements,
            (32 * 9 + 32) + (64 * 32 * 9 + 64) + (1600 * 128 + 128) + (128 * 10 + 10));
  EXPECT_EQ(model.parameters[2].name, "3.weight");
  EXPECT_EQ(model.parameters[2].shape, (Shape{64, 32, 3, 3}));
  EXPECT_EQ(model.segments[1].elements, 0);
  EXPECT_EQ(model.state_elements, 0);
}

TEST(ImageModel, counts_a_multiply_and_an_add_per_weight_and_position) {
  const Segment segment = build(kCnn, kDigit, 10)->segments[2];
  EXPECT_EQ(segment.forward_flops(), 2 * (9 * 32) * (11 * 11 * 64) + 2 * 11 * 11 * 64);
  EXPECT_EQ(segment.backward_input_flops(), 2 * (9 * 32) * (11 * 11 * 64));
}

TEST(ImageModel, stride_0_is_one_pixel_for_convolutions_and_the_kernel_for_pooling) {
  const Model model =
      build({{conv(4, 3), pool(3), conv(2, 3, 0, 2), {kLinear}}}, kDigit, 10).value();
  EXPECT_EQ(model.segments[0].output_shape, (Shape{26, 26, 4}));
  EXPECT_EQ(model.segments[1].output_shape, (Shape{8, 8, 4}));
  EXPECT_EQ(model.segments[2].output_shape, (Shape{3, 3, 2}));
}

TEST(ImageModel, stores_running_statistics_beside_the_parameters) {
  const Model model = build(kResidual, kDigit, 10).value();
  std::vector<std::string> names;
  for (const Parameter& entry : model.state) names.push_back(entry.name);
  EXPECT_THAT(names,
              ElementsAre("3.running_mean", "3.running_var", "6.running_mean", "6.running_var"));
  EXPECT_EQ(model.state_elements, 32);
  EXPECT_EQ(model.state[3].offset, 24);
}

TEST(ImageModel, residual_sum_refers_to_its_segment) {
  const Model model = build(kResidual, kDigit, 10).value();
  const Segment& sum = model.segments[5];
  EXPECT_EQ(sum.name, "7 add 1 relu");
  EXPECT_EQ(sum.addend, 0);
  EXPECT_EQ(sum.activation, Activation::relu);
}

// The sum, later in the list, comes first: it writes the gradient of the block's input, the block's
// first layer adds to it.
TEST(ImageModel, last_user_of_a_value_writes_its_gradient) {
  const Model model = build(kResidual, kDigit, 10).value();
  for (std::size_t s = 0; s < model.segments.size(); ++s)
    EXPECT_EQ(model.segments[s].accumulates, s == 1) << s;
  EXPECT_FALSE(model.segments[5].addend_accumulates);
  const Model twice =
      build({{{kLinear, 4}, {kRelu}, {kLinear, 4}, back(2), {kLinear, 4}, back(4), {kLinear}}}, 4,
            3)
          .value();
  EXPECT_TRUE(twice.segments[2].addend_accumulates);
}

class BadImageModel : public ::testing::TestWithParam<Bad> {};

TEST_P(BadImageModel, is_reported_at_its_field) {
  const base::Problems problems = validate({GetParam().layers}, {8, 6, 3}, 10, "model");
  EXPECT_THAT(problems, ElementsAre(AllOf(IsProblem(GetParam().id, GetParam().where),
                                          Reports(GetParam().data))));
}

INSTANTIATE_TEST_SUITE_P(
    Models, BadImageModel,
    ::testing::Values(Bad{"image_too_small",
                          {conv(4, 7), {kLinear}},
                          "kernel_too_large",
                          "model.layers[0].kernel",
                          "8 x 6 x 3"},
                      Bad{"pooled_too_far",
                          {pool(4), pool(2), {kLinear}},
                          "kernel_too_large",
                          "model.layers[1].kernel",
                          "2 x 1 x 3"},
                      Bad{"flat_features",
                          {{kFlatten}, conv(4, 3), {kLinear}},
                          "layer_needs_image",
                          "model.layers[1]",
                          "144"},
                      Bad{"after_linear",
                          {{kLinear, 9}, pool(2), {kLinear}},
                          "layer_needs_image",
                          "model.layers[1]",
                          "9"},
                      Bad{"wide_padding",
                          {{.kind = LayerKind::max_pool, .kernel = 3, .padding = 2}, {kLinear}},
                          "padding_too_large",
                          "model.layers[0].padding",
                          "2"},
                      Bad{"unequal_sum",
                          {conv(4, 3, 1), norm(), conv(8, 3, 1), back(2), {kLinear}},
                          "shapes_differ",
                          "model.layers[3].back",
                          "8 x 6 x 4"},
                      Bad{"before_the_first",
                          {conv(4, 3), back(2), {kLinear}},
                          "no_layer_to_add",
                          "model.layers[1].back"},
                      Bad{"before_its_activation",
                          {conv(4, 3, 1), {kRelu}, conv(4, 3, 1), back(3), {kLinear}},
                          "layer_overwritten",
                          "model.layers[3].back"},
                      Bad{"to_itself",
                          {{kLinear, 4}, {kFlatten}, back(2), {kLinear}},
                          "no_layer_to_add",
                          "model.layers[2].back",
                          "itself"},
                      Bad{"the_input",
                          {{kFlatten}, {kLinear, 144}, back(2), {kLinear}},
                          "no_layer_to_add",
                          "model.layers[2].back",
                          "input"},
                      Bad{"activation_of_a_pool",
                          {conv(4, 3), pool(2), {kRelu}, {kLinear}},
                          "activation_misplaced",
                          "model.layers[2]"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(ImageModel, without_data_has_no_problems_of_sizes) {
  EXPECT_THAT(validate({{pool(4), pool(2), {kLinear}}}, {}, 0, "model"), IsEmpty());
}

TEST(ImageModel, initializes_convolutions_by_fan_in_and_normalizations_with_one) {
  const Model model = build({{conv(16, 3), norm(), conv(16, 3), {kLinear}}}, kDigit, 10).value();
  std::vector<double> values(static_cast<std::size_t>(model.elements)),
      state(static_cast<std::size_t>(model.state_elements), -1);
  initialize(
      model, 1,
      {compute::DType::fp64, {model.elements}, reinterpret_cast<std::byte*>(values.data())},
      {compute::DType::fp64, {model.state_elements}, reinterpret_cast<std::byte*>(state.data())});
  const auto largest = [&](const Segment& s) {
    double most = 0;
    for (std::int64_t i = s.first; i < s.first + s.elements; ++i)
      most = std::max(most, std::abs(values[static_cast<std::size_t>(i)]));
    return most;
  };
  EXPECT_LE(largest(model.segments[0]), 1.0 / 3);
  EXPECT_GT(largest(model.segments[0]), 0.9 / 3);
  EXPECT_LE(largest(model.segments[2]), 1 / std::sqrt(16 * 9.0));
  const Segment& scaled = model.segments[1];
  for (std::int64_t c = 0; c < 16; ++c) {
    EXPECT_EQ(values[static_cast<std::size_t>(scaled.first + c)], 1);
    EXPECT_EQ(values[static_cast<std::size_t>(scaled.bias_offset() + c)], 0);
    EXPECT_EQ(state[static_cast<std::size_t>(c)], 0);
    EXPECT_EQ(state[static_cast<std::size_t>(16 + c)], 1);
  }
}

TEST(ImageModel, evaluation_has_no_dropout_and_uses_running_statistics) {
  const Model model = build({{conv(4, 3), norm(), dropout(0.5), {kLinear}}}, kDigit, 10).value();
  float memory[1] = {};
  const compute::Tensor rows{compute::DType::fp32,
                             {2, 26 * 26 * 4},
                             reinterpret_cast<std::byte*>(memory)};  // never touched
  SegmentTensors tensors;
  tensors.input = tensors.output = tensors.parameters = tensors.state = rows;
  EXPECT_TRUE(
      std::holds_alternative<compute::BatchNormEvaluate>(evaluate(model.segments[1], tensors)[0]));
  EXPECT_TRUE(std::holds_alternative<compute::Copy>(evaluate(model.segments[2], tensors)[0]));
  EXPECT_TRUE(
      std::holds_alternative<compute::BatchNormForward>(forward(model.segments[1], tensors)[1]));
  EXPECT_TRUE(std::holds_alternative<compute::Dropout>(forward(model.segments[2], tensors)[0]));
}

}  // namespace
}  // namespace trainyard::model
