// SPDX-License-Identifier: GPL-3.0-or-later
// Vertical sharding of feature columns: supported and refused settings.
#include "core/experiment/vertical.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "core/experiment/fields.h"
#include "core/experiment/placement.h"
#include "core/experiment/validation_result.h"
#include "tests/core/experiment/problems.h"
#include "tests/core/experiment/samples.h"

namespace trainyard::experiment {
namespace {

using base::IsProblem;
using model::LayerKind;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Experiment vertical(int hosts = 1, int devices = 2) {
  Experiment e = small(hosts, devices);
  e.data.sharding.kind = data::ShardingKind::vertical;
  return e;
}

TEST(Vertical, is_supported_by_every_strategy_that_all_reduces_gradients) {
  Experiment e = vertical(2, 2);
  for (const StrategyKind kind :
       {StrategyKind::mirrored, StrategyKind::multi_worker_mirrored, StrategyKind::ddp}) {
    e.strategy.kind = kind;
    EXPECT_THAT(validate(e, "."), IsEmpty());
    EXPECT_TRUE(shards_columns(resolve(e, ".").value())) << base::name_of(kind);
  }
}

TEST(Vertical, has_no_effect_on_one_rank) {
  Experiment e = vertical(1, 1);
  for (const StrategyKind kind : {StrategyKind::one_device, StrategyKind::mirrored}) {
    e.strategy.kind = kind;
    EXPECT_THAT(validate(e, "."), IsEmpty());
    const Resolved r = resolve(e, ".").value();
    EXPECT_THAT(columns_by_rank(r), IsEmpty());
    EXPECT_THAT(exchanges(r), IsEmpty());
  }
}

TEST(Vertical, is_equivalent_to_one_device) {
  EXPECT_EQ(equivalence_caveats(vertical()), std::nullopt);
  EXPECT_FALSE(data::owns_samples(vertical().data.sharding));
}

// `setting`: a setting or kind that the text names, which distinguishes the reasons.
void expect_columns_refused(const Experiment& e, const std::string& setting) {
  EXPECT_THAT(validate(e, "."),
              ElementsAre(AllOf(IsProblem("vertical_not_supported", "data.sharding.kind"),
                                Mentions("iid"), Mentions(setting))));
}

TEST(Vertical, is_refused_if_ranks_exchange_no_rows) {
  Experiment e = vertical(1, 3);
  e.strategy.kind = StrategyKind::data_parallel;
  expect_columns_refused(e, "mirrored");
  e.strategy.kind = StrategyKind::central_storage;
  e.topology.hosts[0].devices[1].kind = e.topology.hosts[0].devices[2].kind =
      topology::DeviceKind::gpu;
  expect_columns_refused(e, "mirrored");
  e.strategy.kind = StrategyKind::tpu;
  e.strategy.algorithm = collective::Algorithm::automatic;
  for (topology::Device& device : e.topology.hosts[0].devices)
    device.kind = topology::DeviceKind::tpu;
  expect_columns_refused(e, "mirrored");
}

TEST(Vertical, is_refused_if_weights_are_averaged) {
  Experiment e = vertical();
  e.strategy.average = AveragedQuantity::weights;
  expect_columns_refused(e, "strategy.average to gradients");
}

TEST(Vertical, is_refused_by_an_engine_that_only_all_reduces) {
  Experiment e = vertical();
  e.strategy.engine = Engine::gloo;
  EXPECT_THAT(semantic_problems(e, nullptr),
              ElementsAre(AllOf(IsProblem("vertical_not_supported", "data.sharding.kind"),
                                Mentions("strategy.engine to own"))));
}

TEST(Vertical, is_refused_if_the_first_layer_does_not_sum_over_columns) {
  const model::LayerSpec conv{.kind = LayerKind::conv2d, .channels = 2},
      normal{.kind = LayerKind::batch_norm}, flatten{.kind = LayerKind::flatten};
  for (const auto& [layer, name] :
       {std::pair{conv, "conv2d"},
        {normal, "batch_norm"},
        {model::LayerSpec{.kind = LayerKind::dropout}, "dropout"},
        {model::LayerSpec{.kind = LayerKind::max_pool, .kernel = 2}, "max_pool"}}) {
    Experiment e = vertical();
    e.model.layers = {layer, {LayerKind::linear, 0}};
    SCOPED_TRACE(name);
    expect_columns_refused(e, "linear");
  }
  Experiment e = vertical();
  e.model.layers = {flatten, {LayerKind::linear, 0}};
  EXPECT_THAT(validate(e, "."), IsEmpty()) << "flatten computes nothing";
  e.model.layers = {flatten, normal, {LayerKind::linear, 0}};
  expect_columns_refused(e, "linear");
}

TEST(Vertical, is_refused_if_a_rank_has_no_column) {
  Experiment e = vertical(1, 3);
  e.data.kind = data::DataKind::spirals;
  expect_columns_refused(e, "fewer workers");
  e.topology = star(1, 2);
  EXPECT_THAT(validate(e, "."), IsEmpty());
}

TEST(Vertical, divides_columns_evenly) {
  Experiment e = vertical(1, 3);
  e.data.kind = data::DataKind::blobs;
  e.data.features = 7;
  const Resolved r = resolve(e, ".").value();
  EXPECT_THAT(columns_by_rank(r), ElementsAre(std::pair(0, 3), std::pair(3, 2), std::pair(5, 2)));
  EXPECT_THAT(columns_text(r), ElementsAre(AllOf(HasSubstr("3 of 7"), HasSubstr("0 to 2")),
                                           AllOf(HasSubstr("2 of 7"), HasSubstr("3 to 4")),
                                           AllOf(HasSubstr("2 of 7"), HasSubstr("5 to 6"))));
  EXPECT_THAT(r.shards, IsEmpty()) << "every rank has a part of every sample";
  EXPECT_EQ(columns_by_rank(resolved_from_json(to_json(r)).value()), columns_by_rank(r))
      << "ranks receive the same columns";
}

// 100 samples in steps of 3 x 8 in two micro-steps of 4: four such steps, and one of 4 samples: 2,
// 1 and 1.
TEST(Vertical, exchanges_the_rows_of_all_ranks_in_every_micro_step) {
  Experiment e = vertical(1, 3);
  e.data.train_samples = 100;
  e.data.held_out_samples = 14;  // 5, 5 and 4: a round of 12, and one of 2
  e.training.batch_per_rank = 4;
  e.training.accumulation_steps = 2;
  e.training.epochs = 2;
  const Resolved r = resolve(e, ".").value();
  EXPECT_EQ(rows_of_micro_steps(r, 0), (std::vector<std::int64_t>{12, 12}));
  EXPECT_EQ(rows_of_micro_steps(r, 4), (std::vector<std::int64_t>{4}));
  EXPECT_EQ(rows_of_evaluation(r), (std::vector<std::int64_t>{12, 2}));
  EXPECT_THAT(exchanges(r),
              ElementsAre(Exchange{12, 8, true}, Exchange{12, 8, true}, Exchange{4, 2, true},
                          Exchange{12, 2, false}, Exchange{2, 2, false}));
}

}  // namespace
}  // namespace trainyard::experiment
