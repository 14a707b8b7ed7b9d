// SPDX-License-Identifier: GPL-3.0-or-later
// Synchronized batch normalization: supported and refused settings.
#include "core/experiment/sync_batch_norm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/experiment/fields.h"
#include "core/experiment/placement.h"
#include "core/experiment/validation_result.h"
#include "tests/core/experiment/problems.h"
#include "tests/core/experiment/samples.h"
#include "tests/drawings.h"

namespace trainyard::experiment {
namespace {

using base::IsProblem;
using base::Problem;
using model::LayerKind;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Layers 1 and 3 normalize, over all ranks.
Experiment normalized(int hosts = 1, int devices = 2) {
  Experiment e = small(hosts, devices);
  const model::LayerSpec normal{.kind = LayerKind::batch_norm, .synchronized = true};
  e.model.layers = {
      {LayerKind::linear, 6}, normal, {LayerKind::linear, 4}, normal, {LayerKind::linear, 0}};
  return e;
}

TEST(SyncBatchNorm, is_supported_by_every_strategy_that_all_reduces_gradients) {
  Experiment e = normalized(2, 2);
  for (const StrategyKind kind :
       {StrategyKind::mirrored, StrategyKind::multi_worker_mirrored, StrategyKind::ddp}) {
    e.strategy.kind = kind;
    EXPECT_THAT(validate(e, "."), IsEmpty());
    EXPECT_TRUE(synchronizes(resolve(e, ".").value())) << base::name_of(kind);
  }
}

TEST(SyncBatchNorm, has_no_effect_on_one_rank) {
  Experiment e = normalized(1, 1);
  for (const StrategyKind kind : {StrategyKind::one_device, StrategyKind::mirrored}) {
    e.strategy.kind = kind;
    EXPECT_THAT(validate(e, "."), IsEmpty());
    EXPECT_FALSE(synchronizes(resolve(e, ".").value()));
  }
}

// `setting`: a setting or kind that the text names, which distinguishes the reasons.
void expect_synchronized_refused(const Experiment& e, const std::string& setting) {
  const auto problem = [&](const char* where) {
    return AllOf(IsProblem("synchronized_not_supported", where), Field(&Problem::accepted, "false"),
                 Mentions(setting));
  };
  EXPECT_THAT(validate(e, "."), ElementsAre(problem("model.layers[1].synchronized"),
                                            problem("model.layers[3].synchronized")));
}

TEST(SyncBatchNorm, is_refused_if_one_rank_reduces) {
  Experiment e = normalized();
  e.strategy.kind = StrategyKind::data_parallel;
  expect_synchronized_refused(e, "mirrored");
  e.topology = tests::drawn_storage(2, 1);
  e.strategy.kind = StrategyKind::central_storage;
  expect_synchronized_refused(e, "mirrored");
}

TEST(SyncBatchNorm, is_refused_if_weights_are_averaged) {
  Experiment e = normalized();
  e.strategy.average = AveragedQuantity::weights;
  expect_synchronized_refused(e, "strategy.average to gradients");
}

TEST(SyncBatchNorm, is_equivalent_to_one_device) {
  Experiment e = normalized();
  EXPECT_EQ(equivalence_caveats(e), std::nullopt);
  e.model.layers[1].synchronized = false;
  EXPECT_THAT(equivalence_caveats(e).value_or(""),
              AllOf(HasSubstr("batch_norm"), HasSubstr("each rank")));
  e.model.layers[1].synchronized = true;
  e.training.accumulation_steps = 2;
  EXPECT_THAT(equivalence_caveats(e).value_or(""),
              AllOf(HasSubstr("each micro-step"), Not(HasSubstr("each rank"))));
}

TEST(SyncBatchNorm, is_ignored_by_other_layers) {
  Experiment e = normalized();
  for (model::LayerSpec& layer : e.model.layers)
    layer.synchronized = layer.kind != LayerKind::batch_norm;
  e.strategy.average = AveragedQuantity::weights;
  EXPECT_THAT(validate(e, "."), IsEmpty());
  e.strategy.average = AveragedQuantity::gradients;
  EXPECT_FALSE(synchronizes(resolve(e, ".").value()));
}

TEST(SyncBatchNorm, reduces_two_numbers_per_channel_and_pass_and_one_count) {
  EXPECT_THAT(summed_elements(resolve(normalized(), ".").value()), ElementsAre(13, 12, 9, 8));
  Experiment e = normalized();
  e.model.layers.erase(
      e.model.layers
          .begin());  // the first layer with parameters, which needs no gradient of its input
  EXPECT_EQ(summed_elements(resolve(e, ".").value()).size(), 3u);
}

}  // namespace
}  // namespace trainyard::experiment
