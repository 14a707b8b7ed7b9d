// SPDX-License-Identifier: GPL-3.0-or-later
#include <gmock/gmock.h>

#include "core/experiment/document.h"
#include "tests/core/experiment/problems.h"
#include "tests/core/strategy/experiments.h"

namespace trainyard::experiment {
namespace {

using base::IsProblem;
using model::LayerKind;
using testing::AllOf;
using testing::Contains;
using testing::IsEmpty;

TEST(Sequences, support_a_transformer) {
  EXPECT_THAT(problems_of(strategy::small_gpt(2)), IsEmpty());
}

TEST(Sequences, require_an_embedding_of_characters) {
  Experiment e = strategy::small_gpt(2);
  e.model.layers = {{LayerKind::linear, 4}, {LayerKind::linear, 0}};
  EXPECT_THAT(problems_of(e),
              Contains(AllOf(IsProblem("sequences_without_embedding", "model.layers[0]"),
                             Mentions("embedding"))));
}

TEST(Sequences, are_required_by_an_embedding) {
  Experiment e = strategy::small(2);
  e.model.layers.insert(e.model.layers.begin(),
                        {.kind = LayerKind::embedding, .rows = 0, .width = 4});
  EXPECT_THAT(problems_of(e),
              Contains(AllOf(IsProblem("embedding_without_sequences", "model.layers[0]"),
                             Mentions("blobs"))));
}

TEST(Sequences, require_a_row_for_every_character) {
  Experiment e = strategy::small_gpt(2);
  e.model.layers[0].rows = 5;
  EXPECT_THAT(problems_of(e), Contains(AllOf(IsProblem("too_few_rows", "model.layers[0].rows"),
                                             Mentions("5 rows"))));
}

TEST(Sequences, refuse_a_flattened_output) {
  Experiment e = strategy::small_gpt(2);
  e.model.layers.insert(e.model.layers.end() - 1, {LayerKind::flatten, 0});
  EXPECT_THAT(problems_of(e),
              Contains(AllOf(IsProblem("labels_differ", "model.layers[4]"), Mentions("9 labels"))));
}

TEST(Sequences, require_iid_sharding) {
  Experiment e = strategy::small_gpt(2);
  e.data.sharding.kind = data::ShardingKind::label_skew;
  EXPECT_THAT(problems_of(e), Contains(IsProblem("sharding_not_supported", "data.sharding.kind")));
  e.data.sharding.kind = data::ShardingKind::vertical;
  EXPECT_THAT(problems_of(e), Contains(IsProblem("vertical_not_supported", "data.sharding.kind")));
}

TEST(Sequences, require_heads_that_divide_the_width) {
  Experiment e = strategy::small_gpt(2);
  e.model.layers[1].heads = 3;
  EXPECT_THAT(problems_of(e),
              Contains(AllOf(IsProblem("heads_not_divisible", "model.layers[1].heads"),
                             Mentions("3 heads"))));
  e.model.layers[1] = {.kind = LayerKind::attention, .heads = 2};
  EXPECT_THAT(problems_of(e), Contains(IsProblem("attention_input", "model.layers[1]")));
  e.model.layers.erase(e.model.layers.begin());
  EXPECT_THAT(problems_of(e),
              Contains(AllOf(IsProblem("sequences_without_embedding", "model.layers[0]"),
                             Mentions("attention"))));
}

}  // namespace
}  // namespace trainyard::experiment
