// SPDX-License-Identifier: GPL-3.0-or-later
// Real training by ranks that have some rows or columns of each layer: together they equal one
// device, what all have alike is alike to the bit, and they send each other what the formula says,
// no more.
#include <gtest/gtest.h>

#include "core/experiment/recomputation.h"
#include "core/experiment/tensor.h"
#include "core/model/split.h"
#include "core/run/bind/memory_use.h"
#include "tests/conformance/mesh_training.h"

namespace trainyard::tests {
namespace {

using collective::Algorithm;
using experiment::Experiment;
using experiment::OptimizerKind;
using experiment::StrategyKind;

// 24 samples a step leave a tail of 10 in an epoch of 250.
Experiment to_numerator(Experiment e, int micro_steps = 1) {
  e.strategy.kind = StrategyKind::tensor_parallel;
  e.training.batch_per_rank = 24 / micro_steps;
  e.training.accumulation_steps = micro_steps;
  e.training.steps = 100;
  e.training.precision = experiment::Precision::fp64;
  return e;
}

void expect_parts_equal_one_device(const Experiment& e) {
  expect_valid(e);
  const RankOutcome one = trained(on_one(e))[0];
  const auto many = trained(e);
  expect_as_one_device(e, many, one);
  for (const RankOutcome& rank : many) EXPECT_EQ(rank.state, many[0].state);
  if (!one.state.empty()) {
    EXPECT_LE(distance(many[0].state, one.state), 1e-10);
  }
}

class TensorTraining : public testing::TestWithParam<MeshCase> {};

TEST_P(TensorTraining, over_hundred_fp64_steps_equals_one_device) {
  expect_parts_equal_one_device(GetParam().experiment);
}

TEST_P(TensorTraining, has_the_fp32_gradients_of_one_device) {
  Experiment e = one_step(GetParam().experiment);
  e.training.precision = experiment::Precision::fp32;
  EXPECT_LE(
      distance(assemble(e, trained(e), &RankOutcome::gradients), trained(on_one(e))[0].gradients),
      1e-5);
}

TEST_P(TensorTraining, sends_the_bytes_of_its_formula) { expect_sent_bytes(GetParam().experiment); }
TEST_P(TensorTraining, is_proved) { expect_proved(GetParam().experiment); }

INSTANTIATE_TEST_SUITE_P(
    Models, TensorTraining,
    testing::Values(
        MeshCase{"rows2", to_numerator(strategy::small_rows(2))},
        MeshCase{"uneven3", to_numerator(small(3, 24))},
        MeshCase{"uneven4_micro", to_numerator(small(4, 24), 3)},
        MeshCase{"classes_whole8", to_numerator(small(8, 24))},
        MeshCase{"adam_clipped",
                 with(to_numerator(strategy::small_rows(3), 2), OptimizerKind::adam, 0.3)},
        MeshCase{"adamw_direct",
                 with(to_numerator(small(5, 24)), OptimizerKind::adamw, 0, Algorithm::direct)},
        MeshCase{"tree",
                 with(to_numerator(small(4, 24)), OptimizerKind::sgd, 0.2, Algorithm::binary_tree)},
        MeshCase{"gpt2", to_numerator(gpt(2, 4, false))},
        MeshCase{"gpt4_micro", to_numerator(gpt(4, 4, false), 2)},
        MeshCase{"tied2", to_numerator(gpt(2, 2, true))},
        MeshCase{"tied3_micro", to_numerator(gpt(3, 3, true), 3)},
        MeshCase{"tied_adam_clipped", with(to_numerator(gpt(4, 8, true)), OptimizerKind::adam, 0.3,
                                           Algorithm::halving_doubling)},
        MeshCase{"images", to_numerator(images(strategy::small_normalized_images(3), 3))},
        MeshCase{"clicks", to_numerator(strategy::small_clicks(2))},
        MeshCase{"wide", to_numerator(strategy::small_wide_and_deep(2))}),
    name_of);

std::int64_t activations(const Experiment& e) {
  const plan::RankPlan rank =
      strategy::make_plan(experiment::resolve(e, ".").value()).value().rank_plan(0);
  return run::memory_use(rank, run::layout(rank)).of(run::MemoryPurpose::activations);
}

// Sums are kept: recomputation sends nothing again and changes no bit.
TEST(TensorRecomputation, changes_neither_bits_nor_bytes) {
  for (auto [e, segments] : {std::pair{to_numerator(gpt(2, 4, false), 2), 4},
                             {to_numerator(gpt(3, 3, true), 3), 5},
                             {to_numerator(small(4, 24), 3), 2}}) {
    e.training.steps = 22;
    const auto kept = trained(e);
    e.training.recompute_segments = segments;
    const experiment::Recomputation made =
        experiment::recomputation_of(experiment::resolve(e, ".").value(), 0);
    EXPECT_FALSE(made.runs.empty());
    const model::Model part = experiment::of_rank(experiment::resolve(e, ".").value(), 0).model;
    for (std::size_t s = 0; s < part.segments.size(); ++s)
      EXPECT_FALSE(made.frees(static_cast<int>(s)) && model::sums_outputs(part.segments[s])) << s;
    expect_proved(e);
    expect_sent_bytes(e);
    const auto again = trained(e);
    for (std::size_t r = 0; r < kept.size(); ++r) {
      ASSERT_EQ(kept[r].problem, base::Problem{});
      ASSERT_EQ(again[r].problem, base::Problem{});
      EXPECT_EQ(again[r].parameters, kept[r].parameters);
      EXPECT_EQ(again[r].state, kept[r].state);
    }
  }
}

// B blocks of b rows each on n ranks: of a block ten outputs, of which the two that are summed
// stay, and the sums that the next run takes: six segments of a run of ten are there of one block
// alone.
TEST(TensorRecomputation, reduces_memory_by_the_released_activations_except_one_run) {
  Experiment e = to_numerator(gpt(2, 4, false));
  e.model.layers[1].blocks = 6;
  const std::int64_t kept = activations(e);
  e.training.recompute_segments = 10;
  const experiment::Resolved resolved = experiment::resolve(e, ".").value();
  const experiment::Recomputation made = experiment::recomputation_of(resolved, 0);
  const model::Model part = experiment::of_rank(resolved, 0).model;
  std::int64_t freed = 0, largest = 0;
  for (const experiment::Run& run : made.runs) {
    std::int64_t of_run = 0;
    for (int s = run.first; s <= run.last; ++s)
      if (made.frees(s)) of_run += part.segments[static_cast<std::size_t>(s)].outputs;
    freed += of_run, largest = std::max(largest, of_run);
  }
  const std::int64_t output_bytes = e.training.batch_per_rank * 8;
  EXPECT_GT(freed, 0);
  EXPECT_LE(activations(e), kept - (freed - largest) * output_bytes + largest * output_bytes / 2);
  EXPECT_GE(activations(e), kept - freed * output_bytes);
}

// For a pair of linear layers on n ranks: forward sums the outputs of the second layer; backward
// sums the input gradient of the first, unless no layer before it has parameters.
TEST(TensorBytes, of_a_pair_of_layers_are_one_all_reduce_in_each_direction) {
  Experiment e = to_numerator(strategy::small_rows(2));
  const auto sums = experiment::layer_sums(experiment::resolve(e, ".").value());
  std::vector<std::tuple<int, bool, std::int64_t>> found;
  for (const experiment::LayerSum& sum : sums)
    found.emplace_back(sum.segment, sum.backward, sum.of_sample.elements);
  // Segments: 0 linear 7-6, 1 layer_norm, 2 linear 6-9, 3 gelu, 4 linear 9-6, 5 add, 6 rms_norm, 7
  // linear 6-5, whose classes are in parts: 4 x 2 numbers a row.
  EXPECT_EQ(found, (std::vector<std::tuple<int, bool, std::int64_t>>{
                       {2, true, 6}, {4, false, 6}, {7, true, 6}, {7, false, 8}}));
}

}  // namespace
}  // namespace trainyard::tests
