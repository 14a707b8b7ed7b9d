// SPDX-License-Identifier: GPL-3.0-or-later
// The layers that transformers bring: what they are called, what they learn and where it begins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/model/model.h"

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

TEST(TransformerModel, its_layers_are_segments) {
  const Model model = build(kBlock, {4}, 3).value();
  std::vector<std::string> names;
  for (const Segment& segment : model.segments) names.push_back(segment.name);
  EXPECT_THAT(names,
              testing::ElementsAre("0 linear 4-6", "1 layer_norm 6", "2 linear 6-9", "3 gelu", "4 linear 9-6", "5 add 0", "6 rms_norm 6", "7 linear 6-3"));
}

TEST(TransformerModel, a_root_mean_square_learns_no_shift) {
  const Model model = build(kBlock, {4}, 3).value();
  EXPECT_EQ(model.segments[1].elements, 12);
  EXPECT_EQ(model.segments[3].elements, 0);
  EXPECT_EQ(model.segments[6].elements, 6);
  EXPECT_EQ(model.segments[7].first, model.segments[6].first + 6);
}

TEST(TransformerModel, a_normalisation_begins_by_changing_nothing_more) {
  const Model model = build(kBlock, {4}, 3).value();
  std::vector<double> values(static_cast<std::size_t>(model.elements), -1);
  initialise(model, 1, {compute::DType::fp64, {model.elements}, reinterpret_cast<std::byte*>(values.data())}, {});
  const auto at = [&](int segment, int element) { return values[static_cast<std::size_t>(model.segments[static_cast<std::size_t>(segment)].first + element)]; };
  for (int c = 0; c < 6; ++c) {
    EXPECT_EQ(at(1, c), 1);
    EXPECT_EQ(at(1, 6 + c), 0);
    EXPECT_EQ(at(6, c), 1);
  }
}

TEST(TransformerModel, of_images_each_pixel_is_a_row) {
  const ModelSpec spec{{{LayerKind::layer_norm, 0}, {LayerKind::flatten, 0}, {LayerKind::linear, 0}}};
  EXPECT_EQ(build(spec, {5, 5, 3}, 2).value().segments[0].elements, 6);
}

TEST(TransformerModel, relu_does_not_follow_gelu) {
  const ModelSpec spec{{{LayerKind::linear, 6}, {LayerKind::gelu, 0}, {LayerKind::relu, 0}, {LayerKind::linear, 0}}};
  const auto problems = validate(spec, {4}, 3, "model");
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].where, "model.layers[2]");
}

}  // namespace
}  // namespace trainyard::model
