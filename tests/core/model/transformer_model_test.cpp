// SPDX-License-Identifier: GPL-3.0-or-later
// The layers that transformers bring: what they are called, what they learn and where it begins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/model/model.h"
#include "tests/problem_matchers.h"

namespace trainyard::model {
namespace {

// linear, layer norm, linear, gelu, linear, sum with the first, root-mean-square norm, linear.
const ModelSpec kBlock{{{LayerKind::linear, 6},
                        {LayerKind::layer_norm, 0},
                        {LayerKind::linear, 9},
                        {LayerKind::gelu, 0},
                        {LayerKind::linear, 6},
                        {.kind = LayerKind::add, .back = 5},
                        {LayerKind::rms_norm, 0},
                        {LayerKind::linear, 0}}};

TEST(TransformerModel, layers_are_segments) {
  const Model model = build(kBlock, {4}, 3).value();
  std::vector<std::string> names;
  for (const Segment& segment : model.segments) names.push_back(segment.name);
  EXPECT_THAT(names,
              testing::ElementsAre("0 linear 4-6", "1 layer_norm 6", "2 linear 6-9", "3 gelu",
                                   "4 linear 9-6", "5 add 0", "6 rms_norm 6", "7 linear 6-3"));
}

TEST(TransformerModel, root_mean_square_normalization_has_no_shift) {
  const Model model = build(kBlock, {4}, 3).value();
  EXPECT_EQ(model.segments[1].elements, 12);
  EXPECT_EQ(model.segments[3].elements, 0);
  EXPECT_EQ(model.segments[6].elements, 6);
  EXPECT_EQ(model.segments[7].first, model.segments[6].first + 6);
}

TEST(TransformerModel, normalization_starts_as_the_identity) {
  const Model model = build(kBlock, {4}, 3).value();
  std::vector<double> values(static_cast<std::size_t>(model.elements), -1);
  initialize(model, 1,
             {compute::DType::fp64, {model.elements}, reinterpret_cast<std::byte*>(values.data())},
             {});
  const auto at = [&](int segment, int element) {
    return values[static_cast<std::size_t>(model.segments[static_cast<std::size_t>(segment)].first +
                                           element)];
  };
  for (int c = 0; c < 6; ++c) {
    EXPECT_EQ(at(1, c), 1);
    EXPECT_EQ(at(1, 6 + c), 0);
    EXPECT_EQ(at(6, c), 1);
  }
}

TEST(TransformerModel, treats_each_pixel_of_an_image_as_a_row) {
  const ModelSpec spec{
      {{LayerKind::layer_norm, 0}, {LayerKind::flatten, 0}, {LayerKind::linear, 0}}};
  EXPECT_EQ(build(spec, {5, 5, 3}, 2).value().segments[0].elements, 6);
}

TEST(TransformerModel, refuses_relu_after_gelu) {
  const ModelSpec spec{
      {{LayerKind::linear, 6}, {LayerKind::gelu, 0}, {LayerKind::relu, 0}, {LayerKind::linear, 0}}};
  const auto problems = validate(spec, {4}, 3, "model");
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].where, "model.layers[2]");
}

// An embedding of 6 numbers, two blocks, a normalized row and the logits, on 5 characters of a
// vocabulary of 7.
const ModelSpec kGpt{{{.kind = LayerKind::embedding, .rows = 0, .width = 6},
                      {.kind = LayerKind::transformer, .heads = 3, .blocks = 2},
                      {LayerKind::layer_norm, 0},
                      {LayerKind::linear, 0}}};

TEST(TransformerModel, block_is_ten_segments_with_a_cut_between_any_two) {
  const Model model = build(kGpt, {5}, 7).value();
  std::vector<std::string> names;
  for (const Segment& segment : model.segments) names.push_back(segment.name);
  const std::vector<std::string> first(names.begin(), names.begin() + 12),
      rest(names.end() - 3, names.end());
  EXPECT_THAT(first, testing::ElementsAre("0 embedding 7-6", "1.0 layer_norm 6", "1.1 linear 6-18",
                                          "1.2 attention 3", "1.3 linear 6-6", "1.4 add",
                                          "1.5 layer_norm 6", "1.6 linear 6-24", "1.7 gelu",
                                          "1.8 linear 24-6", "1.9 add", "1.10 layer_norm 6"));
  EXPECT_THAT(rest, testing::ElementsAre("1.19 add", "2 layer_norm 6", "3 linear 6-7"));
  EXPECT_EQ(model.segments[5].addend, 0);
  EXPECT_EQ(model.segments[10].addend, 5);
  EXPECT_EQ(model.segments[15].addend, 10);
  EXPECT_EQ(model.labels(), 5);
}

// The parameter count of GPT-2: 12 d^2 + 13 d per block, (vocabulary + positions) d for the
// embeddings, 2 d for the last normalization, plus the separate output layer of this model.
TEST(TransformerModel, has_the_number_of_parameters_of_the_formula) {
  const std::int64_t d = 6, vocabulary = 7, places = 5;
  const std::int64_t block = 12 * d * d + 13 * d;
  EXPECT_EQ(build(kGpt, {places}, vocabulary).value().elements,
            (vocabulary + places) * d + 2 * block + 2 * d + vocabulary * (d + 1));
}

TEST(TransformerModel, rows_of_a_sequence_pass_linear_layers_separately) {
  const Model model = build(kGpt, {5}, 7).value();
  EXPECT_EQ(model.segments[2].weight_shape(), (Shape{18, 6}));
  EXPECT_EQ(model.segments[2].outputs, 5 * 18);
  EXPECT_EQ(model.segments[2].forward_flops(), 2 * 5 * 18 * 6 + 2 * 5 * 18);
  EXPECT_EQ(model.parameters[1].name, "0.position");
  EXPECT_EQ(model.parameters[1].shape, (Shape{5, 6}));
}

TEST(TransformerModel, tied_output_uses_the_embedding_table) {
  ModelSpec tied = kGpt;
  tied.layers.back().tied = true;
  const Model model = build(tied, {5}, 7).value(), apart = build(kGpt, {5}, 7).value();
  const Segment& output = model.segments.back();
  EXPECT_EQ(output.name, "3 linear 6-7 tied");
  EXPECT_EQ(output.elements, 0);
  EXPECT_EQ(output.first, model.segments.front().first);
  EXPECT_EQ(output.weight_shape(), model.segments.front().weight_shape());
  EXPECT_EQ(&model.owner(output), &model.segments.front());
  EXPECT_EQ(model.elements, apart.elements - 7 * (6 + 1));
  EXPECT_EQ(output.backward_weight_flops(), apart.segments.back().backward_weight_flops());
  EXPECT_TRUE(model.ties());
  EXPECT_FALSE(apart.ties());
}

TEST(TransformerModel, refuses_an_invalid_tie) {
  const auto problem_of = [](const ModelSpec& spec) {
    const auto problems = validate(spec, {5}, 7, "model");
    return problems.empty() ? base::Problem{} : problems.front();
  };
  ModelSpec tied = kGpt;
  tied.layers.back().tied = true;
  EXPECT_EQ(problem_of(tied), base::Problem{});
  ModelSpec rows = tied;
  rows.layers[0].rows = 9;
  EXPECT_THAT(problem_of(rows),
              testing::AllOf(base::IsProblem("tied_rows_differ", "model.layers[3].tied"),
                             base::Reports("9 rows"), base::Reports("7 classes")));
  ModelSpec wider = tied;
  wider.layers.insert(wider.layers.begin() + 3, {LayerKind::linear, 8});
  EXPECT_THAT(problem_of(wider),
              testing::AllOf(base::IsProblem("tied_shapes_differ", "model.layers[4].tied"),
                             base::Reports("dimension 6"), base::Reports("5 x 8")));
  ModelSpec none{{{LayerKind::linear, 6}, {.kind = LayerKind::linear, .tied = true}}};
  EXPECT_THAT(problem_of(none), base::IsProblem("nothing_to_tie", "model.layers[1].tied"));
}

TEST(TransformerModel, attention_cost_is_quadratic_in_rows) {
  const Segment attention = build(kGpt, {5}, 7).value().segments[3];
  EXPECT_EQ(attention.forward_flops(), 15 * (2 * 2 * 6 + 14 * 3));
  EXPECT_EQ(attention.elements, 0);
}

}  // namespace
}  // namespace trainyard::model
