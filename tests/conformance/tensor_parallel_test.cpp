// SPDX-License-Identifier: GPL-3.0-or-later
// Real training by ranks that have some rows or columns of each layer: together they equal one device, what all have alike is alike to the bit, and they send
// each other what the formula says, no more.
#include <gtest/gtest.h>

#include "backends/inproc/transport.h"
#include "core/check/check.h"
#include "core/experiment/sent_bytes.h"
#include "core/experiment/tensor.h"
#include "tests/conformance/mesh_training.h"

namespace trainyard::tests {
namespace {

using collective::Algorithm;
using experiment::Experiment;
using experiment::OptimizerKind;
using experiment::StrategyKind;

std::vector<std::unique_ptr<comm::Transport>> in_process(int ranks, std::size_t arena_bytes) { return inproc::make(ranks, arena_bytes, {64}).value(); }
std::vector<RankOutcome> trained(const Experiment& e) { return trained_by(e, in_process); }

// 24 samples a step leave a tail of 10 in an epoch of 250.
Experiment split(Experiment e, int micro_steps = 1) {
  e.strategy.kind = StrategyKind::tensor_parallel;
  e.training.batch_per_rank = 24 / micro_steps;
  e.training.accumulation_steps = micro_steps;
  e.training.steps = 100;
  e.training.precision = experiment::Precision::fp64;
  return e;
}

void expect_equal_one_device(const Experiment& e) {
  const auto problems = experiment::validate(e, ".");
  ASSERT_EQ(problems.empty() ? "" : base::to_string(problems.front()), "");
  const RankOutcome one = trained(on_one(e))[0];
  const auto many = trained(e);
  expect_as_one_device(e, many, one);
  for (const RankOutcome& rank : many) EXPECT_EQ(rank.state, many[0].state);
  if (!one.state.empty()) {
    EXPECT_LE(distance(many[0].state, one.state), 1e-10);
  }
}

struct Case {
  const char* name;
  Experiment experiment;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

Experiment with(Experiment e, OptimizerKind kind, double clip_norm = 0, Algorithm algorithm = Algorithm::ring) {
  e.training.optimizer = {.kind = kind, .learning_rate = 0.02, .epsilon = 1e-4};
  e.training.clip_norm = clip_norm;
  e.strategy.algorithm = algorithm;
  return e;
}

Experiment gpt(int ranks, std::int64_t heads, bool tied) {
  Experiment e = tied ? strategy::small_tied_gpt(ranks) : strategy::small_gpt(ranks);
  e.model.layers[0].width = 2 * heads;
  e.model.layers[1].heads = heads;
  e.model.layers[1].blocks = 2;
  e.training.optimizer.learning_rate = 0.02;
  return e;
}

class TensorTraining : public testing::TestWithParam<Case> {};

TEST_P(TensorTraining, of_hundred_fp64_steps_equals_one_device) { expect_equal_one_device(GetParam().experiment); }

TEST_P(TensorTraining, has_the_gradients_of_one_device_in_fp32) {
  Experiment e = one_step(GetParam().experiment);
  e.training.precision = experiment::Precision::fp32;
  EXPECT_LE(distance(put_together(e, trained(e), &RankOutcome::gradients), trained(on_one(e))[0].gradients), 1e-5);
}

TEST_P(TensorTraining, sends_what_its_formula_says) {
  Experiment e = GetParam().experiment;
  e.training.steps = 22;
  e.run.evaluate_every_steps = 11;
  const experiment::Resolved all = experiment::resolve(e, ".").value();
  const auto wanted = experiment::sent_bytes(all);
  ASSERT_TRUE(wanted);
  const auto ranks = trained(e);
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    std::int64_t sent = 0;
    for (const comm::Traffic& to : ranks[r].traffic) sent += static_cast<std::int64_t>(to.sent_payload_bytes);
    EXPECT_EQ(sent, (*wanted)[r]) << "rank " << r;
  }
}

TEST_P(TensorTraining, is_proved) {
  const auto plan = strategy::make_plan(experiment::resolve(GetParam().experiment, ".").value());
  ASSERT_TRUE(plan);
  const auto problems = check::check(*plan);
  EXPECT_EQ(problems.empty() ? "" : base::to_string(problems.front()), "");
}

INSTANTIATE_TEST_SUITE_P(Models, TensorTraining,
                         testing::Values(Case{"rows2", split(strategy::small_rows(2))}, Case{"uneven3", split(small(3, 24))},
                                         Case{"uneven4_micro", split(small(4, 24), 3)}, Case{"classes_whole8", split(small(8, 24))},
                                         Case{"adam_clipped", with(split(strategy::small_rows(3), 2), OptimizerKind::adam, 0.3)},
                                         Case{"adamw_direct", with(split(small(5, 24)), OptimizerKind::adamw, 0, Algorithm::direct)},
                                         Case{"tree", with(split(small(4, 24)), OptimizerKind::sgd, 0.2, Algorithm::binary_tree)},
                                         Case{"gpt2", split(gpt(2, 4, false))}, Case{"gpt4_micro", split(gpt(4, 4, false), 2)},
                                         Case{"tied2", split(gpt(2, 2, true))}, Case{"tied3_micro", split(gpt(3, 3, true), 3)},
                                         Case{"tied_adam_clipped", with(split(gpt(4, 8, true)), OptimizerKind::adam, 0.3, Algorithm::halving_doubling)},
                                         Case{"images", split(images(strategy::small_normalised_images(3), 3))},
                                         Case{"clicks", split(strategy::small_clicks(2))}, Case{"wide", split(strategy::small_wide_and_deep(2))}),
                         [](const testing::TestParamInfo<Case>& one) { return one.param.name; });

// Of a pair of linear layers, n ranks: forward the outputs of the second, back the gradient at the inputs of the first, unless nothing is learnt before it.
TEST(TensorBytes, of_a_pair_are_one_all_reduce_each_way) {
  Experiment e = split(strategy::small_rows(2));
  const auto sums = experiment::layer_sums(experiment::resolve(e, ".").value());
  std::vector<std::tuple<int, bool, std::int64_t>> found;
  for (const experiment::LayerSum& sum : sums) found.emplace_back(sum.segment, sum.backward, sum.of_sample.elements);
  // Segments: 0 linear 7-6, 1 layer_norm, 2 linear 6-9, 3 gelu, 4 linear 9-6, 5 add, 6 rms_norm, 7 linear 6-5, whose classes are in parts: 4 x 2 numbers a row.
  EXPECT_EQ(found, (std::vector<std::tuple<int, bool, std::int64_t>>{{2, true, 6}, {4, false, 6}, {7, true, 6}, {7, false, 8}}));
}

}  // namespace
}  // namespace trainyard::tests
