// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/recomputation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/strategy/experiments.h"

namespace trainyard::experiment {
namespace {

using model::LayerKind;
using testing::AllOf;
using testing::HasSubstr;

// Linear layers, each but the last with an activation.
Experiment chain(int ranks, int layers, std::int64_t k) {
  Experiment e = strategy::small(ranks);
  e.model.layers.clear();
  for (int i = 0; i + 1 < layers; ++i)
    e.model.layers.insert(e.model.layers.end(), {{LayerKind::linear, 6}, {LayerKind::tanh, 0}});
  e.model.layers.push_back({LayerKind::linear, 0});
  e.strategy.bucket_bytes = 1e9;
  e.training.recompute_segments = k;
  return e;
}

Recomputation of(const Experiment& e, int rank = 0) {
  return recomputation_of(strategy::resolved(e), rank);
}

// "0-2 again 0 1, 3-5 again 3 4"
std::string describe(const Recomputation& recomputation) {
  std::string text;
  for (const Run& run : recomputation.runs) {
    text += (text.empty() ? "" : ", ") + std::to_string(run.first) + "-" +
            std::to_string(run.last) + " again";
    for (const int s : run.again) text += " " + std::to_string(s);
  }
  return text;
}

TEST(Recomputation, keeps_the_inputs_of_runs_and_the_last_run) {
  EXPECT_EQ(describe(of(chain(2, 9, 3))), "0-2 again 0 1, 3-5 again 3 4");
  EXPECT_EQ(describe(of(chain(2, 8, 3))), "0-2 again 0 1, 3-5 again 3 4");
  EXPECT_EQ(describe(of(chain(2, 9, 0))), "");
  EXPECT_EQ(describe(of(chain(2, 9, 1))), "") << "each output is an input of the next run";
  EXPECT_EQ(describe(of(chain(2, 9, 9))), "") << "the only run has an immediate backward pass";
  const Recomputation one = of(chain(2, 9, 3));
  EXPECT_TRUE(one.frees(0) && one.frees(1) && !one.frees(2) && one.frees(4) && !one.frees(7));
}

// Segments of small_gpt: embedding 0, then of the block a normalized row 1, query, key and value 2,
// attention 3, a linear layer 4, a sum 5, a normalized row 6, linear 7, gelu 8, linear 9, a sum 10;
// a normalized row 11, the last linear layer 12.
TEST(Recomputation, recomputes_only_outputs_that_the_backward_pass_needs) {
  Experiment e = strategy::small_gpt(2);
  e.training.recompute_segments = 11;
  EXPECT_EQ(describe(of(e)), "0-10 again 0 1 2 3 4 5 6 7 8")
      << "the sum of the last residual and its last linear output are not needed";
  e.training.recompute_segments = 5;
  EXPECT_EQ(describe(of(e)), "0-4 again 1 2 3, 5-9 again 6 7 8")
      << "the inputs of the sums are outputs of an earlier run and are kept";
}

TEST(Recomputation, runs_end_at_fsdp_units) {
  Experiment e = chain(2, 9, 3);
  e.strategy.kind = StrategyKind::fsdp;
  EXPECT_EQ(describe(of(e)), "0-2 again 0 1, 3-5 again 3 4");
  e.strategy.bucket_bytes = 2 * 4 * 42;  // the last three, and pairs before them
  EXPECT_EQ(describe(of(e)), "0-1 again 0, 2-3 again 2, 4-5 again 4");
}

Experiment staged(PipelineSchedule schedule, std::int64_t k, int micro_batches = 4) {
  Experiment e = strategy::piped(chain(2, 6, k), schedule, micro_batches);
  e.strategy.stages.partition = Partition::by_hand;
  e.strategy.stages.places = {{"0", 0}, {"6", 1}};  // three segments each
  return e;
}

TEST(Recomputation, keeps_inputs_of_stages_and_outputs_with_immediate_backward) {
  EXPECT_EQ(describe(of(staged(PipelineSchedule::gpipe, 9), 0)), "0-2 again 0 1 2")
      << "the receiving rank has the output";
  EXPECT_EQ(describe(of(staged(PipelineSchedule::gpipe, 9), 1)), "3-5 again 3 4 5");
  EXPECT_EQ(describe(of(staged(PipelineSchedule::gpipe, 2), 1)), "3-4 again 3, 5-5 again 5");
  EXPECT_EQ(describe(of(staged(PipelineSchedule::one_forward_one_backward, 9), 0)),
            "0-2 again 0 1 2");
  EXPECT_EQ(describe(of(staged(PipelineSchedule::one_forward_one_backward, 9), 1)), "");
  EXPECT_EQ(describe(of(staged(PipelineSchedule::naive, 9), 0)), "") << "one micro-batch at a time";
}

TEST(Recomputation, keeps_an_output_that_returns_to_the_rank) {
  Experiment e = strategy::piped(strategy::small_rows(2), PipelineSchedule::gpipe);
  e.training.recompute_segments = 9;
  e.strategy.stages.partition = Partition::by_hand;
  e.strategy.stages.places = {{"0", 0}, {"1", 1}, {"5", 0}};  // the sum in 5 takes the output of 0
  const Recomputation first = of(e, 0);
  EXPECT_FALSE(first.frees(0));
  EXPECT_TRUE(first.frees(5));
}

// Segments of small_gpt as above: the table, 4 and 9 are summed over ranks. The outputs
// between them, which each rank computes for its columns, are freed.
TEST(Recomputation, with_tensor_parallel_keeps_all_reduced_outputs) {
  Experiment e = strategy::small_gpt(2);
  e.strategy.kind = StrategyKind::tensor_parallel;
  e.training.recompute_segments = 11;
  const Recomputation one = of(e);
  EXPECT_EQ(describe(one), "0-10 again 1 2 3 5 6 7 8");
  EXPECT_FALSE(one.frees(0) || one.frees(4) || one.frees(9));
  EXPECT_THAT(*recomputation_line(strategy::resolved(e)),
              AllOf(HasSubstr("7 of 13 outputs"), HasSubstr("recomputes 7")));
}

// The parameters of a unit are gathered and released together.
TEST(Recomputation, runs_of_sharded_stages_end_at_each_unit) {
  Experiment e = strategy::piped(chain(4, 6, 9), PipelineSchedule::gpipe, 4);
  e.strategy.kind = StrategyKind::hybrid;
  e.strategy.mesh = {.data = 2, .pipeline = 2, .tensor = 1, .shards_data = true};
  e.strategy.bucket_bytes = 1;
  e.strategy.stages.partition = Partition::by_hand;
  e.strategy.stages.places = {{"0", 0}, {"6", 1}};
  EXPECT_EQ(describe(of(e, 0)), "2-2 again 2")
      << "inputs of the next unit are kept, except outputs that are sent";
  e.strategy.fsdp.shard = Shard::gradients;
  EXPECT_EQ(describe(of(e, 0)), "0-2 again 0 1 2");
}

TEST(Recomputation, line_states_freed_and_recomputed_outputs) {
  EXPECT_EQ(recomputation_line(strategy::resolved(chain(2, 9, 0))), std::nullopt);
  EXPECT_THAT(*recomputation_line(strategy::resolved(chain(2, 9, 3))),
              AllOf(HasSubstr("4 of 9 outputs"), HasSubstr("recomputes 4")));
  EXPECT_THAT(*recomputation_line(strategy::resolved(chain(2, 9, 1))),
              AllOf(HasSubstr("nothing"), HasSubstr("by 1,")));
  EXPECT_EQ(recomputed_share(strategy::resolved(chain(2, 9, 1))), 0);
  EXPECT_GT(recomputed_share(strategy::resolved(chain(2, 9, 3))), 0.1);
}

}  // namespace
}  // namespace trainyard::experiment
