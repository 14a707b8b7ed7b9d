// SPDX-License-Identifier: GPL-3.0-or-later
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <numeric>

#include "core/compute/ops.h"
#include "core/model/segment_ops.h"
#include "tests/core/model/bad_models.h"
#include "tests/problem_matchers.h"

namespace trainyard::model {
namespace {

using base::IsProblem;
using base::Problem;
using base::Reports;
using compute::Activation;
using compute::DType;
using compute::Op;
using compute::Shape;
using compute::Tensor;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

ModelSpec layers(std::vector<LayerSpec> list) { return {std::move(list)}; }
const ModelSpec kSmall = layers({{LayerKind::linear, 3},
                                 {LayerKind::relu, 0},
                                 {LayerKind::linear, 5},
                                 {LayerKind::tanh, 0},
                                 {LayerKind::linear, 0}});

template <class T>
Tensor tensor(std::vector<T>& values, Shape shape) {
  return {sizeof(T) == 8 ? DType::fp64 : DType::fp32, shape,
          reinterpret_cast<std::byte*>(values.data())};
}

template <class T>
std::vector<T> initial(const Model& model, std::int64_t seed) {
  std::vector<T> values(static_cast<std::size_t>(model.elements));
  initialize(model, seed, tensor(values, {model.elements}));
  return values;
}

TEST(Build, makes_a_segment_of_a_linear_layer_and_its_activation) {
  const Model model = build(kSmall, 4, 2).value();
  ASSERT_EQ(model.segments.size(), 3u);
  EXPECT_EQ(model.segments[0].name, "0 linear 4-3 relu");
  EXPECT_EQ(model.segments[1].name, "2 linear 3-5 tanh");
  EXPECT_EQ(model.segments[2].name, "4 linear 5-2");
  EXPECT_EQ(model.segments[1].activation, Activation::tanh);
  EXPECT_EQ(model.segments[2].activation, Activation::none);
}

TEST(Build, places_parameters_contiguously) {
  const Model model = build(kSmall, 4, 2).value();
  std::int64_t next = 0;
  for (const Parameter& parameter : model.parameters) {
    EXPECT_EQ(parameter.offset, next) << parameter.name;
    next += parameter.shape.elements();
  }
  EXPECT_EQ(model.elements, next);
  EXPECT_EQ(next, (4 * 3 + 3) + (3 * 5 + 5) + (5 * 2 + 2));
  EXPECT_EQ(model.parameters[2].name, "2.weight");
  EXPECT_EQ(model.parameters[2].shape, (Shape{5, 3}));
  EXPECT_EQ(model.parameters[3].offset, model.segments[1].bias_offset());
}

TEST(Build, sets_the_units_of_the_last_layer_to_the_classes) {
  EXPECT_EQ(build(kSmall, 4, 7)->segments.back().outputs, 7);
  EXPECT_EQ(build(layers({{LayerKind::linear, 7}}), 4, 7)->segments.back().outputs, 7);
}

TEST(Build, fails_with_the_first_problem) {
  EXPECT_EQ(build(layers({}), 4, 2).error().where, "model.layers");
}

TEST(Build, counts_a_multiply_and_an_add_per_weight) {
  const Segment segment = build(layers({{LayerKind::linear, 10}}), 784, 10)->segments[0];
  EXPECT_EQ(segment.forward_flops(), 2 * 784 * 10 + 20);
  EXPECT_EQ(segment.backward_input_flops(), 2 * 784 * 10);
}

// 5 columns, of which 3 are numbers of rows; the table is one tensor, row by row, and has no bias.
const ModelSpec kBag =
    layers({{.kind = LayerKind::embedding_bag, .slot_count = 3, .rows = 10, .width = 4},
            {LayerKind::linear, 0}});

TEST(Build, makes_a_bag_of_a_table_and_the_remaining_columns) {
  const Model model = build(kBag, 5, 2).value();
  const Segment& bag = model.segments[0];
  EXPECT_EQ(bag.name, "0 embedding_bag 10-4");
  EXPECT_EQ(bag.output_shape, (Shape{4 + 2}));
  EXPECT_EQ(bag.weight_shape(), (Shape{10, 4}));
  EXPECT_EQ(bag.elements, 40);
  EXPECT_EQ(bag.forward_flops(), 3 * 4);
  EXPECT_EQ(bag.backward_weight_flops(), 3 * 4);
  ASSERT_EQ(model.parameters.size(), 3u);
  EXPECT_EQ(model.parameters[0].name, "0.weight");
  EXPECT_EQ(model.parameters[0].shape, (Shape{10, 4}));
  EXPECT_EQ(model.parameters[1].name, "1.weight");
  EXPECT_EQ(model.parameters[1].offset, 40);
  EXPECT_EQ(model.elements, 40 + 2 * 6 + 2);
  EXPECT_EQ(model.first_with_parameters, 0);
  EXPECT_TRUE(bag.looks_up());
  EXPECT_EQ(bag.table, (Shape{10, 4}));
  EXPECT_EQ(bag.slot_count, 3);
  EXPECT_FALSE(model.segments[1].looks_up());
}

// A bag has at most as many columns as the samples, which must be rows of columns.
TEST(Validate, reports_samples_that_do_not_fit_a_bag) {
  const base::Problems narrow = validate(kBag, {2}, 2, "model"),
                       images = validate(kBag, {5, 5, 1}, 2, "model");
  EXPECT_THAT(narrow, ElementsAre(Field(&Problem::where, "model.layers[0].slots")))
      << base::to_string(narrow);
  EXPECT_THAT(images, ElementsAre(Field(&Problem::id, "layer_needs_columns")))
      << base::to_string(images);
  EXPECT_THAT(validate(kBag, {3}, 2, "model"), IsEmpty());
}

// Deep: rows of 4, a hidden layer and logits. Wide: a second table, of a row of logits for each
// index.
const ModelSpec kWideAndDeep =
    layers({{.kind = LayerKind::embedding_bag, .slot_count = 3, .rows = 10, .width = 4},
            {LayerKind::linear, 6},
            {LayerKind::relu, 0},
            {LayerKind::linear, 0},
            {.kind = LayerKind::wide, .slot_count = 3, .rows = 12}});

TEST(Build, makes_a_wide_layer_of_a_table_with_one_column_per_class) {
  const Model model = build(kWideAndDeep, 5, 2).value();
  ASSERT_EQ(model.segments.size(), 4u);
  const Segment& wide = model.segments[3];
  EXPECT_EQ(wide.name, "4 wide 12-2");
  EXPECT_TRUE(wide.looks_up());
  EXPECT_EQ(wide.table, (Shape{12, 2}));
  EXPECT_EQ(wide.weight_shape(), (Shape{12, 2}));
  EXPECT_EQ(wide.slot_count, 3);
  EXPECT_EQ(wide.inputs, 2);
  EXPECT_EQ(wide.outputs, 2);
  EXPECT_EQ(wide.forward_flops(), 3 * 2);
  EXPECT_EQ(wide.backward_input_flops(), 2);
  EXPECT_EQ(wide.backward_weight_flops(), 3 * 2);
  EXPECT_EQ(wide.first, 10 * 4 + (6 * 6 + 6) + (2 * 6 + 2));
  EXPECT_EQ(wide.elements, 24);
  EXPECT_EQ(model.parameters.back().name, "4.weight");
  EXPECT_EQ(model.parameters.back().offset, wide.first);
  EXPECT_EQ(model.elements, wide.first + 24);
}

TEST(ModelSpec, output_layer_is_the_last_or_the_one_that_wide_adds_to) {
  EXPECT_EQ(kSmall.output_layer(), 4u);
  EXPECT_EQ(kWideAndDeep.output_layer(), 3u);
  EXPECT_EQ(layers({{LayerKind::linear, 0}}).output_layer(), 0u);
  EXPECT_EQ(layers({{.kind = LayerKind::wide}}).output_layer(), 0u);
}

TEST(Validate, reports_samples_that_do_not_fit_a_wide_layer) {
  ModelSpec spec = kWideAndDeep;
  EXPECT_THAT(validate(spec, {3}, 2, "model"), IsEmpty());
  spec.layers.back().slot_count =
      6;  // more than the five columns, of which the logits it adds to are none
  EXPECT_THAT(validate(spec, {5}, 2, "model"),
              ElementsAre(Field(&Problem::where, "model.layers[4].slots")));
  EXPECT_THAT(
      validate(layers({{LayerKind::flatten}, {LayerKind::linear, 0}, {.kind = LayerKind::wide}}),
               {5, 5, 1}, 2, "model"),
      ElementsAre(Field(&Problem::id, "layer_needs_columns")));
}

TEST(Validate, requires_as_many_logits_as_classes_before_a_wide_layer) {
  ModelSpec spec = kWideAndDeep;
  spec.layers[3].units = 2;
  EXPECT_THAT(validate(spec, {5}, 2, "model"), IsEmpty());
  EXPECT_THAT(validate(spec, {5}, 3, "model"),
              ElementsAre(Field(&Problem::where, "model.layers[3]")));
}

class BadModel : public ::testing::TestWithParam<Bad> {};

TEST_P(BadModel, is_reported_at_its_layer) {
  const base::Problems problems = validate(layers(GetParam().layers), {}, 10, "model");
  EXPECT_THAT(problems, ElementsAre(AllOf(IsProblem(GetParam().id, GetParam().where),
                                          Reports(GetParam().data))));
}

INSTANTIATE_TEST_SUITE_P(
    Models, BadModel,
    ::testing::Values(
        Bad{"empty", {}, "no_layers", "model.layers"},
        Bad{"starts_with_activation",
            {{kRelu, 0}, {kLinear, 0}},
            "activation_misplaced",
            "model.layers[0]"},
        Bad{"two_activations",
            {{kLinear, 4}, {kRelu, 0}, {kRelu, 0}, {kLinear, 0}},
            "activation_misplaced",
            "model.layers[2]"},
        Bad{"ends_with_activation",
            {{kLinear, 10}, {kRelu, 0}},
            "output_not_linear",
            "model.layers[1]"},
        Bad{"no_units",
            {{kLinear, 0}, {kRelu, 0}, {kLinear, 0}},
            "units_not_set",
            "model.layers[0].units"},
        Bad{"bag_after_another_layer",
            {{kLinear, 9}, {LayerKind::embedding_bag}, {kLinear, 0}},
            "layer_not_first",
            "model.layers[1]"},
        Bad{"activation_of_a_bag",
            {{LayerKind::embedding_bag}, {kRelu}, {kLinear, 0}},
            "activation_misplaced",
            "model.layers[1]"},
        Bad{"wide_alone", {{LayerKind::wide}}, "wide_without_logits", "model.layers[0]"},
        Bad{"wide_before_another_layer",
            {{kLinear, 9}, {LayerKind::wide}, {kLinear, 0}},
            "layer_not_last",
            "model.layers[1]"},
        Bad{"wide_twice",
            {{kLinear, 0}, {LayerKind::wide}, {LayerKind::wide}},
            "layer_not_last",
            "model.layers[1]"},
        Bad{"wide_after_an_activation",
            {{kLinear, 10}, {kRelu, 0}, {LayerKind::wide}},
            "output_not_linear",
            "model.layers[1]"},
        Bad{"wrong_classes",
            {{kLinear, 9}},
            "units_differ_from_classes",
            "model.layers[0]",
            "9 units"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(Validate, without_data_accepts_any_units_of_the_last_layer) {
  EXPECT_THAT(validate(layers({{kLinear, 9}}), {}, 0, "model"), IsEmpty());
}

// Sizes are multiplied: beyond 64 bits they would be anything, and less than there is room for.
TEST(Validate, reports_a_layer_with_too_many_operations_to_count) {
  const std::int64_t many = 1 << 28;
  const auto linear =
      validate(layers({{kLinear, many}, {kRelu, 0}, {kLinear, many}, {kRelu, 0}, {kLinear, 0}}),
               {4}, 10, "model");
  ASSERT_EQ(linear.size(), 1u) << base::to_string(linear);
  EXPECT_EQ(linear[0].where, "model.layers[2]");
  EXPECT_EQ(linear[0].id, "model_too_large");
  std::vector<LayerSpec> padded(
      33, {.kind = LayerKind::conv2d, .channels = 1, .kernel = 1, .padding = 255});
  padded[32].padding = 18;
  padded.push_back({.kind = LayerKind::conv2d, .channels = 1 << 16, .kernel = 1});
  padded.push_back({LayerKind::flatten});
  padded.push_back({kLinear, 1 << 20});
  padded.push_back({kRelu, 0});
  padded.push_back({kLinear, 0});
  const auto conv = validate(layers(padded), {28, 28, 1}, 10, "model");
  ASSERT_EQ(conv.size(), 1u) << base::to_string(conv);
  EXPECT_EQ(conv[0].where, "model.layers[35]");
  EXPECT_THAT(
      validate(
          layers({{kLinear, 1 << 20}, {kRelu, 0}, {kLinear, 1 << 20}, {kRelu, 0}, {kLinear, 0}}),
          {784}, 10, "model"),
      IsEmpty());
}

TEST(Validate, reports_all_problems) {
  EXPECT_EQ(validate(layers({{kRelu, 0}, {kLinear, 0}, {kLinear, 3}}), {}, 10, "model").size(), 3u);
}

RC_GTEST_PROP(Initialize, gives_equal_weights_for_equal_seeds_in_both_precisions, ()) {
  const Model model = build(kSmall, *rc::gen::inRange(1, 50), *rc::gen::inRange(2, 20)).value();
  const auto seed = *rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 52);
  const auto fine = initial<double>(model, seed);
  const auto coarse = initial<float>(model, seed);
  RC_ASSERT(initial<double>(model, seed) == fine);
  for (std::size_t i = 0; i < fine.size(); ++i) RC_ASSERT(static_cast<float>(fine[i]) == coarse[i]);
}

TEST(Initialize, gives_other_weights_for_another_seed) {
  const Model model = build(kSmall, 4, 2).value();
  EXPECT_NE(initial<double>(model, 1), initial<double>(model, 2));
}

// A parameter's numbers depend on its place in the list, not on the sizes of the others.
TEST(Initialize, does_not_depend_on_later_layers) {
  const Model narrow = build(layers({{kLinear, 8}, {kRelu, 0}, {kLinear, 0}}), 4, 2).value(),
              wide = build(layers({{kLinear, 8}, {kRelu, 0}, {kLinear, 0}}), 4, 9).value();
  const auto a = initial<double>(narrow, 1), b = initial<double>(wide, 1);
  EXPECT_TRUE(std::equal(a.begin(), a.begin() + narrow.segments[0].elements, b.begin()));
}

// Uniform in +-1/sqrt(100) = +-0.1: mean 0 and variance 0.1^2 / 3, with the error of 100,000 draws.
TEST(Initialize, draws_weights_uniformly_by_fan_in) {
  const Model model = build(layers({{kLinear, 1000}}), 100, 1000).value();
  const auto values = initial<double>(model, 3);
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  EXPECT_GE(*least, -0.1);
  EXPECT_LT(*most, 0.1);
  EXPECT_LT(*least, -0.0999);
  EXPECT_GT(*most, 0.0999);
  const double count = static_cast<double>(values.size()),
               mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  const double variance =
      std::inner_product(values.begin(), values.end(), values.begin(), 0.0) / count - mean * mean;
  EXPECT_NEAR(mean, 0, 1e-3);
  EXPECT_NEAR(variance, 0.01 / 3, 5e-5);
}

// Bound for 4 summed numbers: +-1/2.
TEST(Initialize, draws_table_rows_uniformly_by_the_number_of_slots) {
  const Model model =
      build(layers({{.kind = LayerKind::embedding_bag, .slot_count = 4, .rows = 1000, .width = 8},
                    {kLinear, 0}}),
            6, 2)
          .value();
  const auto values = initial<double>(model, 3);
  const auto [least, most] = std::minmax_element(values.begin(), values.begin() + 8000);
  EXPECT_GE(*least, -0.5);
  EXPECT_LT(*most, 0.5);
  EXPECT_LT(*least, -0.499);
  EXPECT_GT(*most, 0.499);
}

// The wide part starts like a linear model of the indices in TensorFlow, the deep part as without
// it.
TEST(Initialize, sets_a_wide_table_to_zero) {
  ModelSpec deep = kWideAndDeep;
  deep.layers.pop_back();
  const Model both = build(kWideAndDeep, 5, 2).value(), alone = build(deep, 5, 2).value();
  const auto values = initial<double>(both, 3), without = initial<double>(alone, 3);
  const auto wide = values.begin() + both.segments.back().first;
  EXPECT_TRUE(std::equal(values.begin(), wide, without.begin(), without.end()));
  EXPECT_TRUE(std::all_of(wide, values.end(), [](double value) { return value == 0; }));
}

TEST(Initialize, draws_different_values_for_each_tensor) {
  const Model model = build(layers({{kLinear, 64}, {kRelu, 0}, {kLinear, 64}}), 64, 64).value();
  const auto values = initial<double>(model, 1);
  EXPECT_FALSE(
      std::equal(values.begin(), values.begin() + 64, values.begin() + model.parameters[2].offset));
}

// Two samples through the middle segment of the small model.
class Ops : public ::testing::Test {
 protected:
  Model model = build(kSmall, 4, 2).value();
  Segment& segment = model.segments[1];
  std::vector<float> parameters = std::vector<float>(static_cast<std::size_t>(model.elements)),
                     gradients = parameters;
  std::vector<float> input = std::vector<float>(6), output = std::vector<float>(10),
                     input_gradient = input, output_gradient = output;
  std::vector<double> norm = std::vector<double>(1);
  SegmentTensors tensors{tensor(input, {2, 3}),
                         tensor(output, {2, 5}),
                         tensor(input_gradient, {2, 3}),
                         tensor(output_gradient, {2, 5}),
                         compute::Tensor{tensor(parameters, {model.elements}).dtype,
                                         {20},
                                         reinterpret_cast<std::byte*>(parameters.data() + 15)},
                         compute::Tensor{tensor(gradients, {model.elements}).dtype,
                                         {20},
                                         reinterpret_cast<std::byte*>(gradients.data() + 15)},
                         tensor(norm, {1})};

  template <class T>
  static const T& as(const Op& op) {
    EXPECT_TRUE(std::holds_alternative<T>(op));
    return std::get<T>(op);
  }
  static bool same(const Tensor& a, const Tensor& b) {
    return a.dtype == b.dtype && a.shape == b.shape && a.data == b.data;
  }
  void expect_part(const Tensor& part, std::vector<float>& flat, std::int64_t offset, Shape shape) {
    EXPECT_EQ(part.as<float>(), flat.data() + offset);
    EXPECT_EQ(part.shape, shape);
  }
};

TEST_F(Ops, forward_is_one_linear_op_with_its_activation) {
  const auto ops = forward(segment, tensors);
  ASSERT_EQ(ops.size(), 1u);
  const auto& op = as<compute::LinearForward>(ops[0]);
  expect_part(op.weight, parameters, 15, {5, 3});
  expect_part(op.bias, parameters, 30, {5});
  EXPECT_TRUE(same(op.input, tensors.input));
  EXPECT_TRUE(same(op.output, tensors.output));
  EXPECT_EQ(op.activation, Activation::tanh);
}

TEST_F(Ops, backward_input_reverses_the_activation_first) {
  const auto ops = backward_input(segment, tensors);
  ASSERT_EQ(ops.size(), 2u);
  const auto& activation = as<compute::ActivationBackward>(ops[0]);
  EXPECT_TRUE(same(activation.output, tensors.output));
  EXPECT_TRUE(same(activation.gradient, tensors.output_gradient));
  EXPECT_EQ(activation.activation, Activation::tanh);
  const auto& linear = as<compute::LinearBackwardInput>(ops[1]);
  expect_part(linear.weight, parameters, 15, {5, 3});
  EXPECT_TRUE(same(linear.input_gradient, tensors.input_gradient));
}

TEST_F(Ops, first_segment_computes_no_input_gradient) {
  tensors.input_gradient = {};
  const auto ops = backward_input(segment, tensors);
  ASSERT_EQ(ops.size(), 1u);
  as<compute::ActivationBackward>(ops[0]);
}

TEST_F(Ops, segment_without_activation_has_no_activation_backward) {
  segment.activation = Activation::none;
  const auto ops = backward_input(segment, tensors);
  ASSERT_EQ(ops.size(), 1u);
  as<compute::LinearBackwardInput>(ops[0]);
}

TEST_F(Ops, backward_weight_writes_gradients_and_norm_of_the_segment) {
  const auto ops = backward_weight(segment, tensors);
  ASSERT_EQ(ops.size(), 1u);
  const auto& op = as<compute::LinearBackwardWeight>(ops[0]);
  expect_part(op.weight_gradient, gradients, 15, {5, 3});
  expect_part(op.bias_gradient, gradients, 30, {5});
  EXPECT_TRUE(same(op.output_gradient, tensors.output_gradient));
  EXPECT_TRUE(same(op.squared_norm, tensors.squared_norm));
}

// Two samples of 5 columns.
TEST(Bag, looks_up_rows_and_computes_their_gradients) {
  const Model model = build(kBag, 5, 2).value();
  std::vector<float> parameters(static_cast<std::size_t>(model.elements)), gradients(40), input(10),
      output(12), output_gradient(12);
  std::vector<double> norm(1);
  SegmentTensors tensors{tensor(input, {2, 5}),
                         tensor(output, {2, 6}),
                         {},
                         tensor(output_gradient, {2, 6}),
                         tensor(parameters, {model.elements}),
                         tensor(gradients, {40}),
                         tensor(norm, {1})};
  tensors.samples = tensors.input;
  for (const auto& ops :
       {forward(model.segments[0], tensors), evaluate(model.segments[0], tensors)}) {
    ASSERT_EQ(ops.size(), 1u);
    const auto& op = std::get<compute::EmbeddingBagForward>(ops[0]);
    EXPECT_EQ(op.table.as<float>(), parameters.data());
    EXPECT_EQ(op.table.shape, (Shape{10, 4}));
    EXPECT_EQ(op.slot_count, 3);
  }
  const auto backward = backward_weight(model.segments[0], tensors);
  ASSERT_EQ(backward.size(), 1u);
  const auto& op = std::get<compute::EmbeddingBagBackwardWeight>(backward[0]);
  EXPECT_EQ(op.table_gradient.as<float>(), gradients.data());
  EXPECT_EQ(op.table_gradient.shape, (Shape{10, 4}));
  EXPECT_EQ(op.squared_norm.as<double>(), norm.data());
  EXPECT_THAT(backward_input(model.segments[0], tensors), IsEmpty());
}

// Samples have 5 columns, beside 2 logits each.
TEST(Wide, adds_the_rows_of_the_samples_to_the_logits_and_passes_the_gradient) {
  const Model model = build(kWideAndDeep, 5, 2).value();
  const Segment& wide = model.segments[3];
  std::vector<float> parameters(static_cast<std::size_t>(model.elements)), gradients(24),
      samples(10), input(4), output(4), input_gradient(4), gradient(4);
  std::vector<double> norm(1);
  SegmentTensors tensors{
      tensor(input, {2, 2}),
      tensor(output, {2, 2}),
      tensor(input_gradient, {2, 2}),
      tensor(gradient, {2, 2}),
      compute::Tensor{tensor(parameters, {24}).dtype,
                      {24},
                      reinterpret_cast<std::byte*>(parameters.data() + wide.first)},
      tensor(gradients, {24}),
      tensor(norm, {1})};
  tensors.samples = tensor(samples, {2, 5});
  for (const auto& ops : {forward(wide, tensors), evaluate(wide, tensors)}) {
    ASSERT_EQ(ops.size(), 1u);
    const auto& op = std::get<compute::AddBag>(ops[0]);
    EXPECT_EQ(op.input.as<float>(), input.data());
    EXPECT_EQ(op.samples.as<float>(), samples.data());
    EXPECT_EQ(op.samples.shape, (Shape{2, 5}));
    EXPECT_EQ(op.table.as<float>(), parameters.data() + wide.first);
    EXPECT_EQ(op.output.as<float>(), output.data());
    EXPECT_EQ(op.slot_count, 3);
  }
  const auto back = backward_input(wide, tensors);
  ASSERT_EQ(back.size(), 1u);
  EXPECT_EQ(std::get<compute::Copy>(back[0]).input.as<float>(), gradient.data());
  EXPECT_EQ(std::get<compute::Copy>(back[0]).output.as<float>(), input_gradient.data());
  const auto weight = backward_weight(wide, tensors);
  ASSERT_EQ(weight.size(), 1u);
  const auto& op = std::get<compute::EmbeddingBagBackwardWeight>(weight[0]);
  EXPECT_EQ(op.input.as<float>(), samples.data());
  EXPECT_EQ(op.output_gradient.as<float>(), gradient.data());
  EXPECT_EQ(op.table_gradient.shape, (Shape{12, 2}));
  EXPECT_EQ(op.squared_norm.as<double>(), norm.data());
}

}  // namespace
}  // namespace trainyard::model
