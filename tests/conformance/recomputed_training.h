// SPDX-License-Identifier: GPL-3.0-or-later
// Trainings of every strategy that gives outputs up and makes them again, for every backend that
// computes: the same bits as without.
#pragma once

#include "core/experiment/recomputation.h"
#include "tests/conformance/trained_in_process.h"

namespace trainyard::tests::recomputed {

using experiment::Experiment;
using experiment::PipelineSchedule;
using experiment::StrategyKind;

inline bool makes_again(const Experiment& e) {
  const plan::Plan plan = strategy::coarse_plan(experiment::resolve(e, ".").value()).value();
  for (std::int32_t r = 0; r < plan.ranks; ++r)
    for (const plan::Program& program : plan.rank_plan(r).programs)
      for (const plan::Op& op : program.ops)
        if (op.kind == plan::OpKind::recompute) return true;
  return false;
}

inline void expect_the_same_bits(const Experiment& e, const MakeCompute& compute) {
  Experiment keeps = e;
  keeps.training.recompute_segments = 0;
  const auto with = train(experiment::resolve(e, ".").value(), compute, in_process);
  const auto without = train(experiment::resolve(keeps, ".").value(), compute, in_process);
  for (std::size_t r = 0; r < with.size(); ++r) {
    ASSERT_EQ(with[r].problem, base::Problem{});
    ASSERT_EQ(without[r].problem, base::Problem{});
    EXPECT_EQ(with[r].parameters, without[r].parameters);
    EXPECT_EQ(with[r].state, without[r].state) << "running statistics follow each batch once";
    for (const auto metric : {telemetry::Metric::loss_sum, telemetry::Metric::held_out_loss_sum})
      EXPECT_EQ(values_of_metric(with[r], metric), values_of_metric(without[r], metric));
  }
}

struct Case {
  const char* name;
  Experiment experiment;
  std::int64_t k = 3;
};

// Tails, micro-steps and evaluations among the steps.
inline Experiment trained_as(Experiment e, StrategyKind kind, std::int64_t micro_steps = 2) {
  e.strategy.kind = kind;
  e.training.accumulation_steps = micro_steps;
  e.training.steps = 24;
  e.training.optimizer.learning_rate = 0.02;
  e.strategy.bucket_bytes = 1e9;
  return e;
}

inline Experiment sharded(Experiment e, experiment::Shard shard) {
  e = trained_as(e, StrategyKind::fsdp);
  e.strategy.fsdp.shard = shard;
  return e;
}

inline Experiment in_stages(Experiment e, PipelineSchedule schedule, int micro_batches = 4) {
  e = trained_as(strategy::piped(e, schedule, micro_batches), StrategyKind::pipeline,
                 micro_batches);
  return e;
}

inline Experiment by_weights(Experiment e) {
  e.strategy.average = experiment::AveragedQuantity::weights;
  return e;
}

// A normalization whose activation the backward pass asks for, too.
inline Experiment normalized(int ranks) {
  Experiment e = strategy::small_normalized_images(ranks);
  e.model.layers.insert(e.model.layers.begin() + 4, {model::LayerKind::relu, 0});
  e.model.layers[5].back = 4;
  return e;
}

inline std::vector<Case> cases() {
  using enum StrategyKind;
  using enum PipelineSchedule;
  using experiment::Shard;
  using namespace strategy;
  return {
      {"one device", trained_as(small_rows(1), one_device)},
      {"mirrored, a transformer", trained_as(small_gpt(2), mirrored, 3)},
      {"mirrored, a tied table", trained_as(small_tied_gpt(2), mirrored), 5},
      {"mirrored, by weights", by_weights(trained_as(small_rows(2), mirrored, 1))},
      {"mirrored, dropout and a sum", trained_as(small_images(2), mirrored), 2},
      {"mirrored, normalized", trained_as(normalized(2), mirrored), 4},
      {"mirrored, normalized over all", trained_as(synchronized(normalized(2)), mirrored), 4},
      {"mirrored, tables and a wide half", trained_as(small_wide_and_deep(2), mirrored), 2},
      {"ddp", trained_as(small_rows(3), ddp)},
      {"data parallel", trained_as(small_rows(2), data_parallel, 1)},
      {"gossip", trained_as(small_rows(3), gossip, 1)},
      {"local steps", trained_as(small_rows(2), local_sgd, 1)},
      {"fsdp full", sharded(small_gpt(2), Shard::full)},
      {"fsdp full, dropout", sharded(small_images(2), Shard::full), 2},
      {"fsdp full, normalized over all", sharded(synchronized(normalized(3)), Shard::full), 4},
      {"fsdp gradients", sharded(small_gpt(3), Shard::gradients)},
      {"fsdp optimizer", sharded(small_gpt(2), Shard::optimizer)},
      {"gpipe", in_stages(small_gpt(2), gpipe), 9},
      {"gpipe, normalized", in_stages(normalized(2), gpipe), 9},
      {"gpipe, runs inside of stages", in_stages(small_rows(2), gpipe), 2},
      {"1f1b", in_stages(small_gpt(3), one_forward_one_backward, 6), 9},
      {"1f1b, dropout", in_stages(small_images(2), one_forward_one_backward), 9},
      {"interleaved 1f1b", in_stages(small_gpt(2), interleaved_1f1b), 9},
      {"zb_h1", in_stages(small_gpt(3), zb_h1, 6), 9},
      {"zb_h1, normalized", in_stages(normalized(3), zb_h1, 6), 9},
  };
}

inline void expect_the_same_bits_in_every_strategy(
    const MakeCompute& compute, experiment::Precision precision = experiment::Precision::fp32) {
  for (Case one : cases()) {
    SCOPED_TRACE(one.name);
    one.experiment.training.recompute_segments = one.k;
    one.experiment.training.precision = precision;
    const auto problems = experiment::validate(one.experiment, ".");
    ASSERT_EQ(problems.empty() ? "" : base::to_string(problems.front()), "");
    EXPECT_TRUE(makes_again(one.experiment));
    expect_the_same_bits(one.experiment, compute);
  }
}

}  // namespace trainyard::tests::recomputed
