// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/core/model/initial.h"

namespace trainyard::model {
namespace {

using testing::ElementsAre;

// Ten segments a block: 1.0 layer_norm, 1.1 linear of query, key and value, 1.2 attention, 1.3
// linear, 1.4 add, 1.5 layer_norm, 1.6 linear, 1.7 gelu, 1.8 linear, 1.9 add.
Model gpt(bool tied, std::int64_t heads = 4) {
  const ModelSpec spec{{{.kind = LayerKind::embedding, .rows = 0, .width = 2 * heads},
                        {.kind = LayerKind::transformer, .heads = heads, .blocks = 1, .hidden = 7},
                        {LayerKind::layer_norm, 0},
                        {.kind = LayerKind::linear, .units = 0, .tied = tied}}};
  return build(spec, Shape{9}, 11).value();
}

// Returns the number of ranks that hold each element of the full model.
std::vector<int> owners(const Model& whole, int ranks, const Parameter& of) {
  std::vector<int> count(static_cast<std::size_t>(of.shape.elements()));
  for (int rank = 0; rank < ranks; ++rank)
    for (const Parameter& own : split_of(whole, ranks, rank).parameters)
      for (std::int64_t i = 0; own.name == of.name && i < own.shape.elements(); ++i)
        ++count[static_cast<std::size_t>(own.index_in_full(i))];
  return count;
}

using S = Split;

TEST(Split, of_a_transformer_is_by_heads_units_rows_and_classes) {
  const std::vector<Split> wanted = {S::rows, S::none, S::outputs, S::none, S::inputs,
                                     S::none, S::none, S::outputs, S::none, S::inputs,
                                     S::none, S::none, S::outputs};
  EXPECT_EQ(splits_of(gpt(false), 2), wanted);
  EXPECT_EQ(splits_of(gpt(true), 4), wanted);
  EXPECT_EQ(splits_of(gpt(true), 1), std::vector<Split>(wanted.size(), S::none))
      << "one rank has all";
}

TEST(Split, does_not_split_layers_with_too_little_for_each_rank) {
  const ModelSpec spec{{{LayerKind::linear, 3},
                        {LayerKind::relu, 0},
                        {LayerKind::linear, 8},
                        {LayerKind::relu, 0},
                        {LayerKind::linear, 0}}};
  EXPECT_THAT(splits_of(build(spec, 7, 5).value(), 4), ElementsAre(S::none, S::outputs, S::inputs))
      << "the first has three units for four";
  EXPECT_THAT(splits_of(build(spec, 7, 5).value(), 3),
              ElementsAre(S::outputs, S::inputs, S::outputs));
  EXPECT_THAT(splits_of(build(spec, 7, 5).value(), 9), ElementsAre(S::none, S::none, S::none));
}

TEST(Split, does_not_exist_if_heads_are_not_divisible) {
  EXPECT_EQ(undivided_heads(gpt(false, 4), 3), 4);
  EXPECT_EQ(undivided_heads(gpt(false, 6), 3), 0);
  EXPECT_EQ(splits_of(gpt(false, 4), 3)[2], S::none);
}

TEST(Split, assigns_every_element_to_one_rank_or_to_all) {
  for (const bool tied : {false, true})
    for (const int ranks : {2, 4}) {
      const Model whole = gpt(tied);
      for (const Parameter& parameter : whole.parameters) {
        const std::vector<int> count = owners(whole, ranks, parameter);
        EXPECT_TRUE(count.front() == 1 || count.front() == ranks) << parameter.name;
        EXPECT_EQ(std::count(count.begin(), count.end(), count.front()), std::ssize(count))
            << parameter.name;
      }
    }
}

TEST(Split, starts_with_the_initial_parameters_of_the_full_model) {
  const Model whole = gpt(true);
  const std::vector<double> all = initial(whole);
  for (int rank = 0; rank < 4; ++rank) {
    const Model part = split_of(whole, 4, rank);
    const std::vector<double> own = initial(part);
    for (const Parameter& parameter : part.parameters) {
      const auto at = std::find_if(whole.parameters.begin(), whole.parameters.end(),
                                   [&](const Parameter& p) { return p.name == parameter.name; });
      for (std::int64_t i = 0; i < parameter.shape.elements(); ++i)
        ASSERT_EQ(own[static_cast<std::size_t>(parameter.offset + i)],
                  all[static_cast<std::size_t>(at->offset + parameter.index_in_full(i))])
            << parameter.name << "[" << i << "]";
    }
  }
}

// 11 characters of 4 ranks: 3, 3, 3, 2; of four heads one each.
TEST(Split, has_the_sizes_of_its_shard) {
  const Model first = split_of(gpt(false), 4, 0), last = split_of(gpt(false), 4, 3);
  EXPECT_EQ(first.segments[0].vocabulary, (Shape{3, 8}));
  EXPECT_EQ(last.segments[0].vocabulary, (Shape{2, 8}));
  EXPECT_EQ(last.segments[0].split_first, 9);
  EXPECT_EQ(first.segments[2].output_shape, (Shape{9, 6}))
      << "query, key and value of two numbers each";
  EXPECT_EQ(first.segments[3].heads, 1);
  EXPECT_EQ(last.segments[7].channels(), 1) << "of 7 units 2, 2, 2, 1";
  EXPECT_EQ(split_count(last, 9), 1);
  EXPECT_EQ(split_count(first, 2), 2);
  EXPECT_EQ(last.classes, 2);
  EXPECT_EQ(last.labels(), 9);
  EXPECT_TRUE(first.segments[0].biased);
  EXPECT_FALSE(last.segments[0].biased) << "places are the first rank's";
  EXPECT_EQ(last.segments[4].bias_elements(), 0);
}

}  // namespace
}  // namespace trainyard::model
