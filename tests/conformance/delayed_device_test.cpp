// SPDX-License-Identifier: GPL-3.0-or-later
// A device may be given ops before it is done with those before them: to the bit the same comes of
// it.
#include <gtest/gtest.h>

#include "tests/conformance/delayed_compute.h"
#include "tests/conformance/trained_in_process.h"
#include "tests/core/strategy/rpc_experiments.h"

namespace trainyard::tests {
namespace {

using experiment::Experiment;
using experiment::PipelineSchedule;
using experiment::StrategyKind;

struct Case {
  const char* name;
  Experiment experiment;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

Experiment by(StrategyKind kind, Experiment e) {
  e.strategy.kind = kind;
  return e;
}

template <class Edit>
Experiment edited(Experiment e, Edit edit) {
  edit(e);
  return e;
}

// Three micro-batches a step, and an evaluation after every fourth.
Experiment in_micro_batches(Experiment e) {
  e.training.accumulation_steps = 3;
  e.run.evaluate_every_steps = 4;
  return e;
}

Experiment with_storage(Experiment e) {
  e.topology = tests::drawn_storage(3);
  return by(StrategyKind::central_storage, std::move(e));
}

Experiment sharded_mesh() {
  Experiment e = by(StrategyKind::hybrid, in_micro_batches(strategy::small_gpt(4)));
  e.strategy.mesh = {.data = 2, .pipeline = 2, .tensor = 1, .shards_data = true};
  return e;
}

std::vector<Case> cases() {
  const auto clipped = [](Experiment& e) { e.training.clip_norm = 0.5; };
  const auto by_adam = [](Experiment& e) {
    e.training.optimizer.kind = experiment::OptimizerKind::adam;
  };
  const auto skips = [](Experiment& e) { e.training.non_finite = experiment::NonFinite::skip; };
  const auto in_fp16 = [](Experiment& e) { e.training.precision = experiment::Precision::fp16; };
  const auto offloads = [](Experiment& e) {
    e.training.swap.activations = e.training.swap.optimizer = experiment::OffloadTarget::host;
  };
  const auto recomputes = [](Experiment& e) { e.training.recompute_segments = 2; };
  const auto compressed = [](Experiment& e) {
    e.strategy.compression.kind = compute::compression::Scheme::top_k;
  };
  return {
      {"one_device", by(StrategyKind::one_device, strategy::small(1))},
      {"mirrored", strategy::small(3)},
      {"in_micro_batches", in_micro_batches(strategy::small_images(2))},
      {"clipped", edited(strategy::small(2), clipped)},
      {"skips", edited(strategy::small(2), skips)},
      {"in_fp16", edited(in_micro_batches(strategy::small_gpt(2)), in_fp16)},
      {"compressed", edited(strategy::small(2), compressed)},
      {"offloads", edited(strategy::small_gpt(2), offloads)},
      {"recomputes", edited(strategy::small_gpt(2), recomputes)},
      {"clicks", strategy::small_clicks(2)},
      {"central_storage", with_storage(strategy::small(3))},
      {"data_parallel", by(StrategyKind::data_parallel, strategy::small(3))},
      {"local_sgd", by(StrategyKind::local_sgd, strategy::small(3))},
      {"gossip", by(StrategyKind::gossip, strategy::small(4))},
      {"fsdp", by(StrategyKind::fsdp, in_micro_batches(strategy::small_gpt(3)))},
      {"tensor_parallel",
       by(StrategyKind::tensor_parallel, in_micro_batches(strategy::small_gpt(2)))},
      {"model_parallel",
       by(StrategyKind::model_parallel, in_micro_batches(strategy::small_gpt(2)))},
      {"gpipe", strategy::piped(strategy::small_gpt(2), PipelineSchedule::gpipe)},
      {"one_f_one_b",
       strategy::piped(strategy::small_gpt(3), PipelineSchedule::one_forward_one_backward)},
      {"interleaved", strategy::piped(strategy::small_gpt(2), PipelineSchedule::interleaved_1f1b)},
      {"zero_bubble", strategy::piped(strategy::small_gpt(3), PipelineSchedule::zb_h1)},
      {"pipedream", strategy::piped(strategy::small_gpt(2), PipelineSchedule::pipedream)},
      {"pipedream_by_adam",
       edited(strategy::piped(strategy::small_gpt(2), PipelineSchedule::pipedream), by_adam)},
      {"sharded_mesh", sharded_mesh()},
      {"rpc", strategy::called(strategy::small(1), 2, 2)}};
}

class DelayedDevice : public testing::TestWithParam<Case> {};

TEST_P(DelayedDevice, trains_like_other_devices) {
  const experiment::Resolved e = strategy::resolved(GetParam().experiment);
  Lateness lateness;
  const auto at_once = train(e, compute::reference::make, in_process);
  const auto late = train(
      e,
      [&] { return std::make_unique<AsynchronousCompute>(compute::reference::make(), &lateness); },
      in_process);
  for (std::size_t rank = 0; rank < late.size(); ++rank) {
    SCOPED_TRACE("rank " + std::to_string(rank));
    ASSERT_EQ(at_once[rank].problem, base::Problem{});
    ASSERT_EQ(late[rank].problem, base::Problem{});
    EXPECT_EQ(late[rank].parameters, at_once[rank].parameters);
    for (const telemetry::Metric metric :
         {telemetry::Metric::loss_sum, telemetry::Metric::correct,
          telemetry::Metric::local_gradient_norm, telemetry::Metric::reduced_gradient_norm,
          telemetry::Metric::update_ratio, telemetry::Metric::held_out_loss_sum})
      EXPECT_EQ(values_of_metric(late[rank], metric), values_of_metric(at_once[rank], metric))
          << static_cast<int>(metric);
  }
  EXPECT_GT(lateness.most, 1) << "ops were submitted ahead";
  EXPECT_GT(lateness.chained, 0);
}

INSTANTIATE_TEST_SUITE_P(Training, DelayedDevice, testing::ValuesIn(cases()),
                         [](const auto& row) { return std::string(row.param.name); });

// Ops run in the order of submission, and none starts before the previous one has ended.
TEST(DelayedOps, are_recorded_one_after_the_other) {
  const experiment::Resolved e =
      strategy::resolved(by(StrategyKind::one_device, strategy::small_gpt(1)));
  const auto rank =
      train(
          e, [] { return std::make_unique<AsynchronousCompute>(compute::reference::make()); },
          in_process)
          .front();
  ASSERT_EQ(rank.problem, base::Problem{});
  std::int64_t end = 0;
  int ops = 0;
  const plan::RankPlan plan = strategy::make_plan(e).value().rank_plan(0);
  for (const telemetry::Event& event : rank.events) {
    if (event.kind != telemetry::EventKind::op) continue;
    const plan::Op& op = plan.programs[event.index].ops[event.subject];
    if (plan.lanes[op.lane.index()].kind != plan::LaneKind::compute) continue;
    EXPECT_LE(end, event.begin_ns);
    EXPECT_LE(event.begin_ns, event.end_ns);
    end = event.end_ns, ++ops;
  }
  EXPECT_GT(ops, 100);
}

}  // namespace
}  // namespace trainyard::tests
