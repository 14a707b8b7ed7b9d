// SPDX-License-Identifier: GPL-3.0-or-later
// Embeddings that a model needs if the data have indices.
#include "core/experiment/embedding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "core/data/clicks.h"
#include "core/experiment/fields.h"
#include "core/experiment/resolve.h"
#include "tests/core/experiment/problems.h"
#include "tests/core/experiment/samples.h"

namespace trainyard::experiment {
namespace {

using base::IsProblem;
using model::LayerKind;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

Experiment clicks_experiment() {
  Experiment e = small();
  e.data.kind = data::DataKind::clicks;
  e.model.layers = {{.kind = LayerKind::embedding_bag},
                    {LayerKind::linear, 8},
                    {LayerKind::relu, 0},
                    {LayerKind::linear, 0}};
  return e;
}

Experiment wide_and_deep() {
  Experiment e = clicks_experiment();
  e.model.layers.push_back({.kind = LayerKind::wide});
  return e;
}

TEST(Embedding, defaults_of_data_and_layer_fit) {
  EXPECT_THAT(validate(clicks_experiment(), "."), IsEmpty());
  const Resolved resolved = resolve(clicks_experiment(), ".").value();
  EXPECT_EQ(resolved.model.segments[0].weight_shape(), (model::Shape{20'000, 16}));
  EXPECT_EQ(resolved.model.classes, 2);
  EXPECT_EQ(resolved_from_json(to_json(resolved)).value().document, resolved.document);
}

// Otherwise an index without a row may occur during training.
TEST(Embedding, requires_a_row_for_every_index) {
  Experiment e = clicks_experiment();
  e.model.layers[0].rows = 19'999;
  EXPECT_THAT(validate(e, "."), ElementsAre(IsProblem("too_few_rows", "model.layers[0].rows")));
  EXPECT_FALSE(resolve(e, ".").has_value());
  e.data.vocabulary = 19'999;
  EXPECT_THAT(validate(e, "."), IsEmpty());
  e.model.layers[0].rows = 30'000;
  EXPECT_THAT(validate(e, "."), IsEmpty());
}

TEST(Embedding, requires_the_slots_of_the_data) {
  for (const std::int64_t slots : {1, 7, 9, 16, 17}) {
    Experiment e = clicks_experiment();
    e.model.layers[0].slot_count = slots;
    EXPECT_THAT(validate(e, "."), ElementsAre(IsProblem("slots_differ", "model.layers[0].slots")))
        << slots;
  }
}

TEST(Embedding, data_with_indices_require_an_embedding) {
  Experiment e = clicks_experiment();
  e.model.layers.erase(e.model.layers.begin());
  EXPECT_THAT(
      validate(e, "."),
      ElementsAre(AllOf(IsProblem("indices_without_table", "model.layers[0]"),
                        Mentions("embedding_bag"), Mentions("8 slots"), Mentions("20,000 rows"))));
}

TEST(Embedding, is_refused_if_data_have_no_indices) {
  for (const data::DataKind kind : {data::DataKind::digits, data::DataKind::blobs}) {
    Experiment e = clicks_experiment();
    e.data.kind = kind;
    e.data.features = 20;
    EXPECT_THAT(validate(e, "."),
                ElementsAre(IsProblem("table_without_indices", "model.layers[0]")));
  }
}

// The units of the output layer are resolved, not those of the last layer.
TEST(Wide, defaults_of_data_and_layer_fit) {
  EXPECT_THAT(validate(wide_and_deep(), "."), IsEmpty());
  const Resolved resolved = resolve(wide_and_deep(), ".").value();
  EXPECT_EQ(resolved.model.segments.back().table, (model::Shape{20'000, 2}));
  EXPECT_EQ(resolved.document.model.layers[3].units, 2);
  EXPECT_EQ(resolved.document.model.layers[4].units, 0);
  EXPECT_EQ(resolved_from_json(to_json(resolved)).value().document, resolved.document);
}

// Each problem is reported separately.
TEST(Wide, requires_the_slots_of_the_data_and_a_row_for_every_index) {
  Experiment e = wide_and_deep();
  e.model.layers[4].rows = 19'999;
  EXPECT_THAT(validate(e, "."), ElementsAre(IsProblem("too_few_rows", "model.layers[4].rows")));
  e.model.layers[4].slot_count = 7;
  EXPECT_THAT(validate(e, "."), ElementsAre(IsProblem("slots_differ", "model.layers[4].slots"),
                                            IsProblem("too_few_rows", "model.layers[4].rows")));
  EXPECT_FALSE(resolve(e, ".").has_value());
  e.model.layers[4] = e.model.layers[0] = {.kind = LayerKind::embedding_bag, .slot_count = 7};
  e.model.layers[4].kind = LayerKind::wide;
  EXPECT_THAT(validate(e, "."), ElementsAre(IsProblem("slots_differ", "model.layers[0].slots"),
                                            IsProblem("slots_differ", "model.layers[4].slots")));
}

TEST(Wide, is_refused_if_data_have_no_indices) {
  Experiment e = wide_and_deep();
  e.data.kind = data::DataKind::blobs;
  e.data.features = 20;
  EXPECT_THAT(validate(e, "."), ElementsAre(IsProblem("table_without_indices", "model.layers[0]"),
                                            IsProblem("table_without_indices", "model.layers[4]")));
}

// A wide layer does not make a linear first layer valid for indices.
TEST(Wide, requires_an_embedding_bag_first) {
  Experiment e = wide_and_deep();
  e.model.layers.erase(e.model.layers.begin());
  EXPECT_THAT(validate(e, "."), ElementsAre(IsProblem("indices_without_table", "model.layers[0]")));
}

// A rank would have only some indices of a sample.
TEST(Wide, does_not_support_vertical_sharding) {
  Experiment e = wide_and_deep();
  e.data.kind = data::DataKind::blobs;
  e.data.features = 20;
  e.data.sharding.kind = data::ShardingKind::vertical;
  e.model.layers.erase(e.model.layers.begin());
  EXPECT_THAT(validate(e, "."),
              testing::Contains(IsProblem("vertical_not_supported", "data.sharding.kind")));
}

TEST(Embedding, other_models_have_no_embedding_problems) {
  EXPECT_THAT(embedding_problems(small()), IsEmpty());
  Experiment e = small();
  e.model.layers.clear();
  EXPECT_THAT(embedding_problems(e), IsEmpty());
}

// Both the document and the generator refuse vocabularies larger than floats can represent.
TEST(Embedding, vocabulary_beyond_exact_floats_is_refused) {
  Experiment e = clicks_experiment();
  e.data.vocabulary = data::kMaxIndices + 1;
  EXPECT_THAT(validate(e, "."), ElementsAre(IsProblem("out_of_range", "data.vocabulary")));
}

// The output of a table is not a sum over columns of numbers.
TEST(Embedding, does_not_support_vertical_sharding) {
  Experiment e = clicks_experiment();
  e.data.sharding.kind = data::ShardingKind::vertical;
  EXPECT_THAT(validate(e, "."),
              ElementsAre(IsProblem("vertical_not_supported", "data.sharding.kind")));
}

TEST(Embedding, supports_label_skew) {
  Experiment e = clicks_experiment();
  e.data.sharding.kind = data::ShardingKind::label_skew;
  EXPECT_THAT(validate(e, "."), IsEmpty());
  EXPECT_THAT(resolve(e, ".").value().shards, Not(IsEmpty()));
}

}  // namespace
}  // namespace trainyard::experiment
