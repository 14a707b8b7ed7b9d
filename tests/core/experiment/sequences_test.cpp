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

TEST(Sequences, a_transformer_on_sentences_is_in_order) {
  EXPECT_THAT(problems_of(strategy::small_gpt(2)), IsEmpty());
}

TEST(Sequences, characters_are_no_amounts) {
  Experiment e = strategy::small_gpt(2);
  e.model.layers = {{LayerKind::linear, 4}, {LayerKind::linear, 0}};
  EXPECT_THAT(problems_of(e), Contains(AllOf(IsProblem("indices_without_table", "model.layers[0]"),
                                             Mentions("embedding"))));
}

TEST(Sequences, an_embedding_needs_them) {
  Experiment e = strategy::small(2);
  e.model.layers.insert(e.model.layers.begin(),
                        {.kind = LayerKind::embedding, .rows = 0, .width = 4});
  EXPECT_THAT(problems_of(e),
              Contains(AllOf(IsProblem("FIXME", "model.layers[0]"), Mentions("blobs"))));
}

TEST(Sequences, every_character_has_a_row) {
  Experiment e = strategy::small_gpt(2);
  e.model.layers[0].rows = 5;
  EXPECT_THAT(problems_of(e), Contains(AllOf(IsProblem("too_few_rows", "model.layers[0].rows"),
                                             Mentions("5 rows"))));
}

TEST(Sequences, what_is_flattened_foretells_one_class_only) {
  Experiment e = strategy::small_gpt(2);
  e.model.layers.insert(e.model.layers.end() - 1, {LayerKind::flatten, 0});
  EXPECT_THAT(problems_of(e),
              Contains(AllOf(IsProblem("FIXME", "model.layers[0]"), Mentions("9 labels"))));
}

TEST(Sequences, are_dealt_out_anew) {
  Experiment e = strategy::small_gpt(2);
  e.data.sharding.kind = data::ShardingKind::label_skew;
  EXPECT_THAT(problems_of(e), Contains(IsProblem("FIXME", "data.sharding.kind")));
  e.data.sharding.kind = data::ShardingKind::vertical;
  EXPECT_THAT(problems_of(e), Contains(IsProblem("FIXME", "data.sharding.kind")));
}

TEST(Sequences, heads_share_the_rows_evenly) {
  Experiment e = strategy::small_gpt(2);
  e.model.layers[1].heads = 3;
  EXPECT_THAT(problems_of(e),
              Contains(AllOf(IsProblem("FIXME", "model.layers[1].heads"), Mentions("3 heads"))));
  e.model.layers[1] = {.kind = LayerKind::attention, .heads = 2};
  EXPECT_THAT(problems_of(e), Contains(IsProblem("FIXME", "model.layers[1]")));
  e.model.layers.erase(e.model.layers.begin());
  EXPECT_THAT(problems_of(e), Contains(AllOf(IsProblem("FIXME"), Mentions("attention"))));
}

}  // namespace
}  // namespace trainyard::experiment
