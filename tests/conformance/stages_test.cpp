// SPDX-License-Identifier: GPL-3.0-or-later
// Real training by ranks that have some layers each: together they equal one device, and send each
// other what crosses between them, no more.
#include "core/experiment/stages.h"

#include <gtest/gtest.h>

#include "core/experiment/fields.h"
#include "tests/conformance/stage_training.h"

namespace trainyard::tests {
namespace {

using experiment::Experiment;
using experiment::OptimizerKind;
using experiment::PipelineSchedule;
using experiment::StagePlace;
using experiment::StrategyKind;

void expect_stages_equal_one_device(const Experiment& e) {
  const RankOutcome one = trained(alone(e))[0];
  ASSERT_EQ(one.problem, base::Problem{});
  const auto many = trained(e);
  const Whole whole = gathered(e, many);
  EXPECT_LE(distance(whole.parameters, one.parameters), 1e-10);
  if (!one.state.empty()) {
    EXPECT_LE(distance(whole.state, one.state), 1e-10);
  }
  for (const std::int32_t step : {0, 99})
    for (const telemetry::Metric metric :
         {telemetry::Metric::loss_sum, telemetry::Metric::correct, telemetry::Metric::samples})
      EXPECT_NEAR(sum_of(many, metric, step), sum_of({one}, metric, step), 1e-6);
  for (const telemetry::Metric metric :
       {telemetry::Metric::held_out_loss_sum, telemetry::Metric::held_out_correct,
        telemetry::Metric::held_out_samples})
    EXPECT_NEAR(sum_of(many, metric, 99), sum_of({one}, metric, 99), 1e-6);
}

struct StageCase {
  int ranks;
  StrategyKind kind = StrategyKind::pipeline;
  PipelineSchedule schedule = PipelineSchedule::one_forward_one_backward;
  OptimizerKind optimizer = OptimizerKind::sgd;
  double clip_norm = 0;
  int chunks = 2;

  // Eight segments: a normalized row and a block that is added to what came in.
  Experiment training() const {
    Experiment e = split(strategy::small_rows(ranks), kind, schedule);
    e.strategy.stages.chunks = chunks;
    e.training.accumulation_steps = schedule == PipelineSchedule::interleaved_1f1b ? 2 * ranks : 6;
    e.training.optimizer = {.kind = optimizer, .learning_rate = 0.02, .epsilon = 1e-4};
    e.training.clip_norm = clip_norm;
    return e;
  }
};

void PrintTo(const StageCase& c, std::ostream* out) {
  *out << c.ranks << " ranks, " << base::name_of(c.kind) << " " << base::name_of(c.schedule) << ", "
       << base::name_of(c.optimizer) << (c.clip_norm > 0 ? ", clipped" : "");
}

class StageTraining : public testing::TestWithParam<StageCase> {};

TEST_P(StageTraining, over_hundred_fp64_steps_equals_one_device) {
  expect_stages_equal_one_device(GetParam().training());
}

TEST_P(StageTraining, has_the_fp32_gradients_of_one_device) {
  Experiment e = one_step(GetParam().training());
  e.training.precision = experiment::Precision::fp32;
  EXPECT_LE(distance(gathered(e, trained(e)).gradients, trained(alone(e))[0].gradients), 1e-5);
}

using S = PipelineSchedule;
using O = OptimizerKind;
constexpr StrategyKind kPipeline = StrategyKind::pipeline;
INSTANTIATE_TEST_SUITE_P(
    Strategies, StageTraining,
    testing::Values(StageCase{2}, StageCase{3, StrategyKind::model_parallel},
                    StageCase{8, StrategyKind::model_parallel, S::naive, O::adam},
                    StageCase{2, kPipeline, S::gpipe, O::adamw}, StageCase{4, kPipeline, S::gpipe},
                    StageCase{8, kPipeline, S::gpipe, O::sgd, 0.3},
                    StageCase{3, kPipeline, S::one_forward_one_backward, O::adam},
                    StageCase{5, kPipeline, S::one_forward_one_backward, O::sgd, 0.3}, StageCase{8},
                    StageCase{3, kPipeline, S::naive}, StageCase{2, kPipeline, S::interleaved_1f1b},
                    StageCase{4, kPipeline, S::interleaved_1f1b, O::adamw},
                    StageCase{2, kPipeline, S::interleaved_1f1b, O::sgd, 0.3, 4},
                    StageCase{2, kPipeline, S::zb_h1},
                    StageCase{4, kPipeline, S::zb_h1, O::adam, 0.3},
                    StageCase{8, kPipeline, S::zb_h1}));

// Difficult partitions by hand: through a residual sum, between a convolution and its
// normalization, around a tied table.
struct Placed {
  const char* name;
  Experiment experiment;
  std::vector<StagePlace> places;
  PipelineSchedule schedule = PipelineSchedule::gpipe;
};

TEST(StagePlacement, of_any_layers_equal_one_device) {
  Experiment images = strategy::small_normalized_images(3);
  images.training.optimizer.learning_rate = 0.01;
  const Experiment clicks = strategy::small_wide_and_deep(2);
  const Placed cases[] = {
      {"through a residual sum", strategy::small_rows(3), {{"0", 0}, {"3", 1}, {"5", 2}}},
      {"an output that comes back",
       strategy::small_rows(3),
       {{"0", 0}, {"1", 1}, {"5", 0}, {"6", 2}}},
      {"there and back and there",
       strategy::small_rows(2),
       {{"0", 1}, {"2", 0}, {"3", 1}, {"4", 0}, {"5", 1}, {"6", 0}}},
      {"a normalization apart", images, {{"0", 0}, {"3", 1}, {"4", 2}}},
      {"dropout alone", images, {{"0", 2}, {"7", 0}, {"9", 1}}, S::one_forward_one_backward},
      {"dropout alone, weights later", images, {{"0", 2}, {"7", 0}, {"9", 1}}, S::zb_h1},
      {"half a block of a transformer", strategy::small_gpt(3), {{"0", 0}, {"1.3", 1}, {"1.7", 2}}},
      {"a tied table", strategy::small_tied_gpt(2), {{"0", 0}, {"1.2", 1}, {"3", 0}}},
      {"a table whose tied layer is elsewhere",
       strategy::small_tied_gpt(3),
       {{"0", 1}, {"1.2", 0}, {"3", 2}},
       S::one_forward_one_backward},
      {"a table before its tied layer",
       strategy::small_tied_gpt(2),
       {{"0", 1}, {"1.2", 0}},
       S::zb_h1},
      {"tables of a wide half", clicks, {{"0", 0}, {"1", 1}}},
      {"a wide half elsewhere", clicks, {{"0", 1}, {"4", 0}}},
  };
  for (const Placed& placed : cases) {
    SCOPED_TRACE(placed.name);
    Experiment e = split(placed.experiment, StrategyKind::pipeline, placed.schedule);
    e.strategy.stages.partition = experiment::Partition::by_hand;
    e.strategy.stages.places = placed.places;
    e.strategy.average = experiment::AveragedQuantity::gradients;
    const auto problems = experiment::validate(e, ".");
    ASSERT_EQ(problems.empty() ? "" : base::to_string(problems.front()), "");
    expect_stages_equal_one_device(e);
  }
}

// Total over all steps and evaluations: every output that crosses stages, and its gradient
// backward. 7 features in; outputs of 6, 6, 9, 9, 6, 6, 6 and 5.
TEST(StageBytes, are_those_of_the_activations_between_stages) {
  Experiment e =
      split(strategy::small_rows(3), StrategyKind::pipeline, S::one_forward_one_backward);
  e.strategy.stages.partition = experiment::Partition::by_hand;
  e.strategy.stages.places = {
      {"0", 0},
      {"3", 1},
      {"6", 2}};          // segment 2 and, for the sum, segment 0 cross to 1; segment 5 to 2
  e.training.steps = 22;  // two epochs of 10 full steps and a tail
  e.training.epochs = 2;
  e.run.evaluate_every_steps = 11;
  const auto ranks = trained(e);
  const auto sent = [&](std::size_t from, std::size_t to) {
    return static_cast<std::int64_t>(ranks[from].traffic[to].sent_payload_bytes);
  };
  const std::int64_t trained_samples = 2 * 250, evaluated = 2 * 53;
  EXPECT_EQ(sent(0, 1), (trained_samples + evaluated) * (9 + 6) * 8);
  EXPECT_EQ(sent(1, 2), (trained_samples + evaluated) * 6 * 8);
  EXPECT_EQ(sent(1, 0), trained_samples * (9 + 6) * 8);
  EXPECT_EQ(sent(2, 1), trained_samples * 6 * 8);
  EXPECT_EQ(sent(0, 2) + sent(2, 0), 0);
}

}  // namespace
}  // namespace trainyard::tests
