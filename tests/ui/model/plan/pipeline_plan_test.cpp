// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/plan/pipeline_plan.h"

#include <gtest/gtest.h>

#include "tests/ui/drawn_pipeline.h"
#include "ui/model/plan/stage_assignment.h"

namespace trainyard::ui {
namespace {

using namespace test;
using experiment::Pass;
using experiment::PipelineSchedule;

// Forward takes 1 ms per stage, and backward 2 ms, in two halves if weight gradients are separate.
// Other ops take no time.
plan::Plan equalised(const plan::Plan& plan, bool has_weight_pass) {
  plan::Plan equal = plan;
  equal.rank_plan = [made = plan.rank_plan, has_weight_pass](std::int32_t rank) {
    plan::RankPlan changed = made(rank);
    for (plan::Program& program : changed.programs)
      for (plan::Op& op : program.ops) {
        op.flops = 0;
        if (op.kind == plan::OpKind::forward ||
            (has_weight_pass && op.kind == plan::OpKind::backward_weight))
          op.flops = 1'000'000;
        if (op.kind == plan::OpKind::backward_input)
          op.flops = has_weight_pass ? 1'000'000 : 2'000'000;
      }
    return changed;
  };
  return equal;
}

PlannedStep equal_step(PipelineSchedule schedule, int ranks, int micro_batches, int chunks = 1) {
  const experiment::Resolved e = resolved(drawn_pipeline(schedule, ranks, micro_batches, chunks));
  const PipelinePlan made =
      planned(e, equalised(strategy::make_plan(e).value(), schedule == PipelineSchedule::zb_h1));
  return *made.find("train");
}

constexpr double kNearly = 0.003;  // starting an op takes 2 us

TEST(PipelinePlan, cells_of_equal_stages_have_the_bubble_of_the_formulas) {
  for (const auto& [schedule, chunks] :
       {std::pair(PipelineSchedule::naive, 1), std::pair(PipelineSchedule::gpipe, 1),
        std::pair(PipelineSchedule::one_forward_one_backward, 1),
        std::pair(PipelineSchedule::interleaved_1f1b, 2), std::pair(PipelineSchedule::zb_h1, 1)})
    for (const int p : {2, 4}) {
      const PlannedStep step = equal_step(schedule, p, 3 * p, chunks);
      ASSERT_TRUE(step.ideal);
      EXPECT_NEAR(step.cells.bubble(), *step.ideal, kNearly)
          << static_cast<int>(schedule) << " of " << p;
    }
}

TEST(PipelinePlan, every_rank_processes_every_micro_batch_in_the_order_of_the_schedule) {
  const PlannedStep step = equal_step(PipelineSchedule::one_forward_one_backward, 3, 4);
  ASSERT_EQ(step.cells.ranks.size(), 3u);
  for (int rank = 0; rank < 3; ++rank) {
    std::vector<experiment::Cell> cells;
    for (const PassCell& cell : step.cells.ranks[static_cast<std::size_t>(rank)])
      cells.push_back(cell.of);
    EXPECT_EQ(cells,
              experiment::cells_of(PipelineSchedule::one_forward_one_backward, {0, 1, 2}, rank, 4))
        << "rank " << rank;
  }
  EXPECT_EQ(step.tokens[0].front(), "F.s0.m0");
  EXPECT_EQ(step.tokens[2][1], "LOSS.m0") << "backward of the last stage begins with the loss";
}

TEST(PipelinePlan, separate_weight_gradients_are_separate_cells) {
  const PlannedStep step = equal_step(PipelineSchedule::zb_h1, 2, 4);
  int later = 0;
  for (const PassCell& cell : step.cells.ranks[1])
    later += cell.of.pass == Pass::backward_weight ? 1 : 0;
  EXPECT_EQ(later, 4);
}

TEST(PipelinePlan, states_index_and_layers_of_a_stage) {
  const auto shape =
      pipeline_shape(resolved(drawn_pipeline(PipelineSchedule::interleaved_1f1b, 2, 4, 2)));
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->stages.size(), 4u);
  EXPECT_EQ(shape->chunks(), 2);
  EXPECT_EQ(shape->chunk(1), 0);
  EXPECT_EQ(shape->chunk(3), 1);
  EXPECT_EQ(shape->layers_of(1), "2, 6");
}

TEST(PipelinePlan, shorter_last_step_of_an_epoch_has_separate_cells_and_formula) {
  experiment::Experiment e = drawn_pipeline(PipelineSchedule::gpipe, 2, 4);
  e.data.train_samples = 4 * 4 + 2;
  const PipelinePlan made = planned(e);
  ASSERT_EQ(made.steps.size(), 2u);
  const PlannedStep* tail = made.find("tail");
  ASSERT_NE(tail, nullptr);
  EXPECT_EQ(made.find("train")->cells.micro_batches(), 4);
  EXPECT_EQ(tail->cells.micro_batches(), 2);
  EXPECT_DOUBLE_EQ(*tail->ideal, 1.0 / 3);
  EXPECT_EQ(made.find("evaluate"), nullptr);
}

TEST(PipelinePlan, does_not_exist_without_split_models) {
  experiment::Experiment e = drawn_pipeline(PipelineSchedule::gpipe, 2, 4);
  e.strategy.kind = experiment::StrategyKind::mirrored;
  EXPECT_FALSE(pipeline_shape(resolved(e)));
}

TEST(PipelinePlan, can_be_canceled) {
  const experiment::Resolved e = resolved(drawn_pipeline(PipelineSchedule::gpipe, 2, 4));
  std::stop_source source;
  source.request_stop();
  const auto stopped =
      pipeline_plan(e, *pipeline_shape(e), strategy::make_plan(e).value(), source.get_token());
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, base::ProblemCode::canceled);
}

// Two trainers that call `servers` servers.
experiment::Experiment called(
    int servers, experiment::RemoteLayers remote,
    experiment::RemoteOutput output = experiment::RemoteOutput::reference) {
  experiment::Experiment e = drawn_pipeline(PipelineSchedule::gpipe, 2 + servers, 1);
  for (int s = 0; s < servers; ++s)
    e.topology.hosts[0].devices[static_cast<std::size_t>(2 + s)].role =
        topology::Role::parameter_server;
  e.strategy.kind = experiment::StrategyKind::rpc;
  e.strategy.rpc = {remote, output};
  return e;
}

// Trainers have an empty stage before the first server and, by value, between servers. These stages
// have no cells.
TEST(PipelinePlan, excludes_stages_of_rpc_that_only_forward) {
  for (const auto output : {experiment::RemoteOutput::reference, experiment::RemoteOutput::value}) {
    const PipelinePlan made = planned(called(2, experiment::RemoteLayers::all, output));
    EXPECT_EQ(made.shape.chunks(), 1);
    ASSERT_EQ(made.find("train")->cells.ranks.size(), 4u);
    for (const auto& cells : made.find("train")->cells.ranks) {
      EXPECT_FALSE(cells.empty());
      for (const PassCell& cell : cells)
        EXPECT_TRUE(made.shape.has_cells(cell.of.stage) && made.shape.chunk(cell.of.stage) == 0)
            << cell.of.stage;
    }
  }
}

// The server has the table at the beginning and at the end. Trainers have all other layers and the
// loss.
TEST(PipelinePlan, includes_stages_of_rpc_that_are_visited_twice) {
  experiment::Experiment e = called(1, experiment::RemoteLayers::embeddings);
  model::LayerSpec embedding{model::LayerKind::embedding}, head{model::LayerKind::linear};
  embedding.rows = 0, embedding.width = 8, head.tied = true;
  e.data.kind = data::DataKind::grammar;
  e.model.layers = {embedding, {model::LayerKind::linear, 8}, head};
  const auto shape = pipeline_shape(resolved(e));
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->chunks(), 2);
  const int loss = static_cast<int>(shape->stages.size()) - 1;
  EXPECT_EQ(shape->chunk(loss), 1);
  EXPECT_EQ(shape->layers_of(0), "1, loss");
  EXPECT_EQ(shape->layers_of(2), "0, 2");
}

TEST(PipelinePlan, states_the_loss_for_trainers_without_layers) {
  const experiment::Resolved e = resolved(called(2, experiment::RemoteLayers::all));
  const std::vector<std::string> layers =
      stage_assignment(e, strategy::make_plan(e).value()).layers;
  EXPECT_EQ(layers, (std::vector<std::string>{"loss", "loss", "0\u20132", "4\u20136"}));
  EXPECT_EQ(held_text(layers[0]), "the loss");
  EXPECT_EQ(held_text(layers[2]), "layers 0\u20132");
  EXPECT_EQ(held_text("2 (1/2)"), "layer 2 (1/2)");
  EXPECT_EQ(held_text(""), "");
}

}  // namespace
}  // namespace trainyard::ui
