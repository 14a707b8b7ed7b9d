// SPDX-License-Identifier: GPL-3.0-or-later
// Real training with outputs that are given up and made again: the same numbers to the last bit, in
// less memory, as much as the formulas say.
#include <gmock/gmock.h>

#include "core/run/bind/memory_use.h"
#include "core/session/advice/memory_problems.h"
#include "tests/conformance/layer_chain.h"
#include "tests/conformance/recomputed_training.h"

namespace trainyard::tests::recomputed {
namespace {

using model::LayerKind;

TEST(Recomputation, is_bit_identical_to_training_without) {
  expect_the_same_bits_in_every_strategy(compute::reference::make);
}
TEST(Recomputation, is_bit_identical_in_bf16) {
  expect_the_same_bits_in_every_strategy(compute::reference::make, experiment::Precision::bf16);
}

std::int64_t activations(const Experiment& e, std::int32_t rank = 0) {
  return use_of(e, rank).of(run::MemoryPurpose::activations);
}

// With L equal layers in L / k runs: the input of each run, all activations of one run, and a
// gradient. Without recomputation: L activations and a gradient.
TEST(RecomputedMemory, of_a_chain_is_that_of_the_checkpoints_and_one_run) {
  constexpr std::int64_t kSamples = kOutput + 4 * 4;  // and their labels
  for (const int layers : {12, 24, 36})
    for (const int k : {2, 3, 4, 6}) {
      SCOPED_TRACE(std::to_string(layers) + " layers in runs of " + std::to_string(k));
      Experiment e = chain(2, layers, kWidth);
      EXPECT_EQ(activations(e), kSamples + (layers + 1) * kOutput);
      e.training.recompute_segments = k;
      EXPECT_EQ(activations(e), kSamples + (layers / k + k) * kOutput);
      e.training.accumulation_steps = 3;
      EXPECT_EQ(activations(e), kSamples + (layers / k + k) * kOutput)
          << "micro-steps reuse the same memory";
    }
}

// GPipe (Huang et al. 2019): N + (L/p)(N/m). Of a stage in the middle: what comes in of all
// micro-batches; all that it computes of one; and what is under way beside: an output that is sent,
// two gradients that come, two that are sent, and two between layers.
TEST(RecomputedMemory, of_a_stage_is_the_inputs_of_all_micro_batches_and_all_of_one) {
  for (const int micro_batches : {4, 8, 16})
    for (const int per_stage : {4, 8}) {
      SCOPED_TRACE(std::to_string(micro_batches) + " micro-batches, " + std::to_string(per_stage) +
                   " layers a stage");
      Experiment e =
          strategy::piped(chain(3, 3 * per_stage, kWidth), PipelineSchedule::gpipe, micro_batches);
      e.training.batch_per_rank = 4;
      e.strategy.stages.partition = experiment::Partition::by_hand;
      e.strategy.stages.places = {
          {"0", 0}, {std::to_string(2 * per_stage), 1}, {std::to_string(4 * per_stage), 2}};
      const std::int64_t kept = activations(e, 1);
      e.training.recompute_segments = per_stage;
      EXPECT_EQ(activations(e, 1), (micro_batches + per_stage + 7) * kOutput);
      EXPECT_EQ(use_of(e, 1).of(run::MemoryPurpose::gradients), (per_stage + 1) * kLayer)
          << "of a stage, and one that is added; no peer reads them";
      EXPECT_GE(kept, (micro_batches * (per_stage + 1)) * kOutput)
          << "all activations of all micro-batches";
    }
}

// Four blocks of a transformer.
Experiment deep_gpt(int ranks) {
  Experiment e = strategy::small_gpt(ranks);
  e.model.layers[1].blocks = 4;
  return e;
}

TEST(RecomputedMemory, is_lower_in_every_strategy) {
  using enum PipelineSchedule;
  const std::pair<const char*, Experiment> all[] = {
      {"mirrored", trained_as(deep_gpt(2), StrategyKind::mirrored)},
      {"ddp", trained_as(deep_gpt(2), StrategyKind::ddp)},
      {"fsdp full", sharded(deep_gpt(2), experiment::Shard::full)},
      {"fsdp gradients", sharded(deep_gpt(2), experiment::Shard::gradients)},
      {"fsdp optimizer", sharded(deep_gpt(2), experiment::Shard::optimizer)},
      {"gpipe", in_stages(deep_gpt(2), gpipe)},
      {"1f1b", in_stages(deep_gpt(2), one_forward_one_backward)},
      {"interleaved 1f1b", in_stages(deep_gpt(2), interleaved_1f1b)},
      {"zb_h1", in_stages(deep_gpt(2), zb_h1)},
  };
  for (const auto& [name, experiment] : all) {
    SCOPED_TRACE(name);
    Experiment e = experiment;
    const run::MemoryUse kept = use_of(e);
    e.training.recompute_segments = 10;
    const run::MemoryUse again = use_of(e);
    EXPECT_LT(again.of(run::MemoryPurpose::activations), kept.of(run::MemoryPurpose::activations));
    for (const auto part : {run::MemoryPurpose::parameters, run::MemoryPurpose::gradients,
                            run::MemoryPurpose::moments})
      EXPECT_EQ(again.of(part), kept.of(part));
  }
}

// Applies the advised settings.
TEST(RecomputedMemory, is_advised_if_a_plan_does_not_fit) {
  Experiment e = trained_as(chain(2, 36, 64), StrategyKind::mirrored, 1);
  e.training.batch_per_rank = 1024;
  e.data.train_samples = 8192;
  const std::int64_t kept = use_of(e).total();
  const auto problems_with = [&](const Experiment& tried) {
    Experiment drawn = tried;
    for (topology::Device& device : drawn.topology.hosts[0].devices) device.memory_bytes = kept / 2;
    const experiment::Resolved resolved = experiment::resolve(drawn, ".").value();
    return session::find_memory_problems(resolved, strategy::make_plan(resolved).value());
  };
  const base::Problems refused = problems_with(e);
  ASSERT_FALSE(refused.empty());
  const std::string advice = refused.front().advice, key = "training.recompute_segments=";
  const std::size_t at = advice.find(key);
  ASSERT_NE(at, std::string::npos) << advice;
  EXPECT_THAT(advice.substr(at), testing::ContainsRegex("[0-9] % "));
  e.training.recompute_segments = std::stoll(advice.substr(at + key.size()));
  EXPECT_TRUE(problems_with(e).empty());
  EXPECT_LE(use_of(e).total(), kept / 2);
}

}  // namespace
}  // namespace trainyard::tests::recomputed
