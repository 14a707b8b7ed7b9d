// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/local_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/core/model/initial.h"

namespace trainyard::model {
namespace {

using testing::ElementsAre;

// A convolution, a residual block with a batch normalization, and dropout.
Model images() {
  const ModelSpec spec{{{.kind = LayerKind::conv2d, .channels = 3, .kernel = 5, .stride = 3},
                        {LayerKind::relu, 0},
                        {.kind = LayerKind::conv2d, .channels = 3, .padding = 1},
                        {LayerKind::batch_norm, 0},
                        {.kind = LayerKind::add, .back = 3},
                        {LayerKind::tanh, 0},
                        {.kind = LayerKind::max_pool, .kernel = 2},
                        {.kind = LayerKind::dropout, .probability = 0.25},
                        {LayerKind::flatten, 0},
                        {LayerKind::linear, 0}}};
  return build(spec, Shape{28, 28, 1}, 10).value();
}

Model tied() {
  const ModelSpec spec{{{.kind = LayerKind::embedding, .rows = 0, .width = 4},
                        {.kind = LayerKind::transformer, .heads = 2, .blocks = 1, .hidden = 5},
                        {.kind = LayerKind::linear, .units = 0, .tied = true}}};
  return build(spec, Shape{9}, 11).value();
}

std::vector<std::string> names(const std::vector<Parameter>& parameters) {
  std::vector<std::string> list;
  for (const Parameter& parameter : parameters) list.push_back(parameter.name);
  return list;
}

// 0 conv relu, 2 conv, 3 batch_norm, 4 add tanh, 6 max_pool, 7 dropout, 9 linear.
TEST(LocalModel, has_the_parameters_of_its_segments_contiguously) {
  const Model whole = images();
  const Model first = part_of(whole, {0, 1, 1, 0, 0, 0, 1}, 0),
              second = part_of(whole, {0, 1, 1, 0, 0, 0, 1}, 1);
  EXPECT_THAT(names(first.parameters), ElementsAre("0.weight", "0.bias"));
  EXPECT_THAT(names(second.parameters),
              ElementsAre("2.weight", "2.bias", "3.weight", "3.bias", "9.weight", "9.bias"));
  EXPECT_EQ(first.elements + second.elements, whole.elements);
  EXPECT_EQ(first.state_elements, 0);
  EXPECT_THAT(names(second.state), ElementsAre("3.running_mean", "3.running_var"));
  EXPECT_EQ(second.segments[1].first, 0);
  EXPECT_EQ(second.segments[6].first, second.segments[1].elements + second.segments[2].elements);
  EXPECT_EQ(second.segments[0].elements, 0);
  EXPECT_EQ(second.first_with_parameters, 0);
}

TEST(LocalModel, starts_with_the_initial_values_of_the_full_model) {
  const Model whole = images();
  const std::vector<double> of_whole = initial(whole);
  const std::vector<int> owners{1, 0, 1, 1, 0, 0, 1};
  for (const int rank : {0, 1}) {
    const Model part = part_of(whole, owners, rank);
    const std::vector<double> of_part = initial(part);
    for (const Parameter& own : part.parameters) {
      const auto same = std::find_if(whole.parameters.begin(), whole.parameters.end(),
                                     [&](const Parameter& p) { return p.name == own.name; });
      for (std::int64_t i = 0; i < own.shape.elements(); ++i)
        EXPECT_EQ(of_part[static_cast<std::size_t>(own.offset + i)],
                  of_whole[static_cast<std::size_t>(same->offset + i)])
            << own.name;
    }
  }
}

TEST(LocalModel, with_a_tied_layer_uses_the_weight_of_the_embedding) {
  const Model whole = tied();
  std::vector<int> owners(whole.segments.size(), 1);
  owners.front() = owners.back() = 0;
  const Model part = part_of(whole, owners, 0);
  EXPECT_EQ(part.elements, whole.segments.front().elements);
  EXPECT_EQ(part.segments.back().first, 0);
  EXPECT_EQ(part_of(whole, owners, 1).elements, whole.elements - part.elements);
}

TEST(LocalModel, with_a_tied_layer_but_no_embedding_has_the_table_too) {
  const Model whole = tied();
  std::vector<int> owners(whole.segments.size(), 1);
  owners.front() = 0, owners.back() = 2;
  const std::vector<double> of_whole = initial(whole);
  for (const int rank : {0, 2}) {
    const Model part = part_of(whole, owners, rank);
    EXPECT_EQ(part.elements, whole.segments.front().elements);
    EXPECT_EQ(part.owner(part.segments.back()).elements, part.elements);
    EXPECT_TRUE(part.segments.front().apart && part.segments.back().apart);
    const std::vector<double> own = initial(part);
    EXPECT_TRUE(std::equal(own.begin(), own.end(), of_whole.begin()));
  }
  EXPECT_EQ(part_of(whole, owners, 1).elements, whole.elements - whole.segments.front().elements);
}

TEST(Stages, are_consecutive_segments) {
  const auto stages = stages_of({2, 2, 0, 2});
  ASSERT_EQ(stages.size(), 3u);
  EXPECT_EQ(stages[0].last, 1);
  EXPECT_EQ(stages[1].rank, 0);
  EXPECT_TRUE(stages[2].has(3));
}

// The sum in segment 3 adds the output of segment 0.
TEST(Paths, skip_segments_that_do_not_use_an_output) {
  const Model whole = images();
  const auto paths = paths_of(whole, stages_of({0, 1, 1, 2, 2, 2, 2}));
  EXPECT_THAT(paths[0], ElementsAre(0, 1, 2));
  EXPECT_THAT(paths[1], ElementsAre(1));
  EXPECT_THAT(paths[2], ElementsAre(1, 2));
  EXPECT_THAT(inputs_of(whole, 3), ElementsAre(0, 2));
  EXPECT_THAT(inputs_of(whole, 0), ElementsAre(-1));
}

}  // namespace
}  // namespace trainyard::model
