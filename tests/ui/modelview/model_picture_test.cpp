// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/modelview/model_picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "core/experiment/stages.h"
#include "tests/problem_matchers.h"
#include "tests/ui/modelview/model_samples.h"
#include "ui/modelview/model_text.h"

namespace trainyard::ui {
namespace {

using base::IsProblem;
using base::Mentions;
using experiment::Experiment;
using experiment::StrategyKind;
using test::by_hand;
using test::gpt;
using test::ranks_of;
using test::three_layers;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Optional;

TEST(ModelPicture, has_figures_of_every_layer_and_totals) {
  const ModelPicture picture = model_picture(three_layers(StrategyKind::mirrored, 2), "");
  ASSERT_EQ(picture.problem, std::nullopt);
  ASSERT_EQ(picture.count(), 3);
  EXPECT_EQ(picture.input, "28 x 28 x 1");
  EXPECT_THAT(picture.loss.toStdString(), HasSubstr("10 classes"));
  const ModelNode& first = picture.node(0);
  EXPECT_EQ(first.place, "0");
  EXPECT_EQ(first.name, "0 linear 784-32 relu");
  EXPECT_EQ(first.output, "32");
  EXPECT_EQ(first.parameters, 784 * 32 + 32);
  EXPECT_EQ(first.parameter_bytes, 4 * (784 * 32 + 32));
  EXPECT_EQ(first.activation_bytes, 4 * 8 * 32) << "of a micro-batch of 8";
  EXPECT_EQ(first.forward_flops, 2 * 784 * 32 + 2 * 32);
  EXPECT_EQ(first.backward_flops, 2 * 784 * 32 + 2 * 32)
      << "the gradient of the samples is not needed";
  EXPECT_EQ(picture.node(1).backward_flops, 2 * 2 * 32 * 16 + 2 * 16)
      << "of weights, and at its input";
  EXPECT_EQ(picture.parameters, 784 * 32 + 32 + 32 * 16 + 16 + 16 * 10 + 10);
  EXPECT_EQ(picture.activation_bytes, 4 * 8 * (32 + 16 + 10));
  double share = 0;
  for (const ModelNode& node : picture.nodes) share += node.share;
  EXPECT_DOUBLE_EQ(share, 1);
}

// Shards of layers: of a pair, the first is split by outputs and the second by inputs; the last
// layer by classes.
TEST(ModelPicture, states_the_part_of_a_layer_of_a_rank) {
  const ModelPicture picture = model_picture(three_layers(StrategyKind::tensor_parallel, 2), "");
  ASSERT_EQ(picture.count(), 3);
  EXPECT_EQ(picture.node(0).split,
            (LayerSplit{model::Split::outputs, false, 32, {{0, 16, {0}}, {16, 16, {1}}}}));
  EXPECT_EQ(kept_text(picture.node(0)), "ranks 0, 1: 16 of 32 outputs each");
  EXPECT_EQ(kept_text(picture.node(1)), "ranks 0, 1: 16 of 32 inputs each");
  EXPECT_EQ(kept_text(picture.node(2)), "ranks 0, 1: 5 of 10 outputs each");
  EXPECT_THAT(sentence(picture, 1).toStdString(),
              AllOf(HasSubstr("32 inputs"), HasSubstr("rank 0 has 0 to 15"),
                    HasSubstr("rank 1 has 16 to 31")));
}

// Stages have different layers, and replicas the same parts. Heads divide query, key and value
// equally.
TEST(ModelPicture, states_the_part_of_every_replica_of_a_mesh) {
  Experiment e = gpt(8, 1, false);
  e.strategy.kind = StrategyKind::hybrid;
  e.strategy.mesh = {2, 2, 2, false};
  const ModelPicture picture = model_picture(e, "");
  ASSERT_EQ(picture.problem, std::nullopt);
  const int attends = picture.node_at("1.1");
  const LayerSplit& split = picture.node(attends).split;
  ASSERT_EQ(split.parts.size(), 2u);
  EXPECT_TRUE(split.is_qkv);
  EXPECT_EQ(split.parts[0].count + split.parts[1].count, split.of);
  const int first = split.parts[0].ranks.front();
  EXPECT_THAT(split.parts[0].ranks, ElementsAre(first, first + 2))
      << "the same part of the other replica";
  EXPECT_THAT(split.parts[1].ranks, ElementsAre(first + 1, first + 3));
  EXPECT_THAT(sentence(picture, attends).toStdString(), HasSubstr("16 outputs"));
  const int norm = picture.node_at("1.0");
  EXPECT_TRUE(picture.node(norm).split.parts.empty());
  EXPECT_EQ(picture.node(norm).holders.size(), 4u) << "all ranks of the stage have the full layer";
  const int attention = picture.node_at("1.2");
  EXPECT_EQ(picture.node(attention).holders, picture.node(norm).holders)
      << "attention has no parameters";
  EXPECT_THAT(sentence(picture, attention).toStdString(), HasSubstr("; on ranks "));
  ASSERT_EQ(picture.columns.size(), 2u);
  EXPECT_EQ(picture.columns.front().title, "Stage 0");
  EXPECT_EQ(picture.columns.front().devices.size(), 4) << "of both replicas, both parts";
  EXPECT_EQ(picture.owners.front(), 0);
  EXPECT_EQ(picture.owners.back(), 1);
  EXPECT_THAT(column_details(picture.columns[1]).toStdString(), HasSubstr("Stage 1 ("));
  EXPECT_THAT(picture.kept.toStdString(), AllOf(HasSubstr("replica"), HasSubstr("each stage"),
                                                HasSubstr("a shard"), HasSubstr("compute cost")));
}

// All devices of a mesh of one stage have the same layers.
TEST(ModelPicture, has_no_columns_for_a_mesh_of_one_stage) {
  Experiment e = three_layers(StrategyKind::hybrid, 4);
  e.strategy.mesh = {2, 1, 2, false};
  const ModelPicture picture = model_picture(e, "");
  EXPECT_FALSE(picture.splits);
  EXPECT_EQ(picture.columns.front().title, "All devices");
  EXPECT_THAT(picture.kept.toStdString(),
              AllOf(HasSubstr("replica"), HasSubstr("a shard"), Not(HasSubstr("stage"))));
}

// Parameters of a stage are those of one of its devices. Both stages count the table.
TEST(ModelPicture, counts_a_table_in_both_of_its_stages) {
  Experiment e = gpt(2, 1, true);
  e.strategy.kind = StrategyKind::pipeline;
  const ModelPicture picture = model_picture(e, "");
  ASSERT_EQ(picture.problem, std::nullopt);
  ASSERT_EQ(picture.owners.back(), 1);
  std::int64_t all = 0;
  for (const ModelColumn& column : picture.columns) all += column.parameter_bytes;
  EXPECT_EQ(all, picture.parameter_bytes + picture.node(0).parameter_bytes);
}

TEST(ModelPicture, counts_bytes_of_the_precision) {
  Experiment e = three_layers(StrategyKind::mirrored, 2);
  e.training.precision = experiment::Precision::fp64;
  const ModelPicture picture = model_picture(e, "");
  EXPECT_EQ(picture.node(2).parameter_bytes, 8 * 170);
  EXPECT_EQ(picture.node(2).activation_bytes, 8 * 8 * 10);
}

TEST(ModelPicture, has_the_ranks_of_the_plan) {
  const Experiment e = three_layers(StrategyKind::pipeline, 2);
  const ModelPicture picture = model_picture(e, "");
  EXPECT_TRUE(picture.splits);
  EXPECT_EQ(ranks_of(picture), experiment::owners_of(experiment::resolve(e, "").value()));
  ASSERT_EQ(picture.columns.size(), 2u);
  EXPECT_EQ(picture.columns[1].rank, 1);
  EXPECT_EQ(picture.columns[1].devices, QStringList("cpu1"));
  EXPECT_EQ(picture.columns[0].parameter_bytes + picture.columns[1].parameter_bytes,
            picture.parameter_bytes);
  EXPECT_DOUBLE_EQ(picture.columns[0].share + picture.columns[1].share, 1);
  EXPECT_THAT(picture.kept.toStdString(), HasSubstr("compute cost"));
}

TEST(ModelPicture, groups_the_segments_of_each_block) {
  const ModelPicture picture = model_picture(gpt(2, 3, false), "");
  ASSERT_EQ(picture.groups.size(), 3u);
  EXPECT_EQ(picture.groups[1].title, "1 transformer, block 1");
  const int parts = picture.groups[0].last - picture.groups[0].first + 1;
  EXPECT_EQ(picture.count(), 2 + 3 * parts);
  EXPECT_EQ(picture.groups[0].first, 1);
  for (const ModelGroup& group : picture.groups) {
    EXPECT_EQ(group.last - group.first + 1, parts);
    std::int64_t parameters = 0;
    for (int n = group.first; n <= group.last; ++n) parameters += picture.node(n).parameters;
    EXPECT_EQ(group.parameters, parameters);
    EXPECT_EQ(picture.node(group.last).addend, group.first + (parts / 2) - 1)
        << "the block ends with a sum";
  }
  EXPECT_EQ(picture.node(0).group, -1);
  EXPECT_EQ(picture.node(picture.count() - 1).group, -1);
}

TEST(ModelPicture, states_tied_layers_and_counts_the_table_once) {
  const ModelPicture picture = model_picture(gpt(2, 1, true), "");
  const ModelNode& last = picture.nodes.back();
  EXPECT_EQ(last.tied_to, 0);
  EXPECT_EQ(last.parameters, 0);
  EXPECT_GT(last.backward_flops, last.forward_flops) << "it computes gradients of the table";
}

TEST(ModelPicture, has_one_column_for_replicas) {
  const std::pair<StrategyKind, const char*> kinds[] = {
      {StrategyKind::mirrored, "the same parameters"},
      {StrategyKind::local_sgd, "local parameters"},
      {StrategyKind::fsdp, "a shard (1/n)"}};
  for (const auto& [kind, kept] : kinds) {
    Experiment e = three_layers(kind, 4);
    if (kind == StrategyKind::local_sgd) e.training.accumulation_steps = 1;
    const ModelPicture picture = model_picture(e, "");
    EXPECT_FALSE(picture.splits);
    ASSERT_EQ(picture.columns.size(), 1u);
    EXPECT_EQ(picture.columns[0].title, "Every device");
    EXPECT_THAT(picture.kept.toStdString(), HasSubstr(kept));
    EXPECT_EQ(kept_text(picture.node(0)), "");
  }
}

TEST(ModelPicture, states_the_shards_of_a_rank_of_fsdp) {
  Experiment e = three_layers(StrategyKind::fsdp, 4);
  const auto kept = [&] { return model_picture(e, "").kept.toStdString(); };
  EXPECT_THAT(kept(), HasSubstr("(1/n) of parameters, gradients and moments"));
  e.strategy.fsdp.shard = experiment::Shard::gradients;
  EXPECT_THAT(kept(),
              AllOf(HasSubstr("full parameters"), HasSubstr("(1/n) of gradients and moments")));
  e.strategy.fsdp.shard = experiment::Shard::optimizer;
  e.strategy.fsdp.group = experiment::ShardGroup::host;
  EXPECT_THAT(kept(), AllOf(HasSubstr("full parameters and gradients"), HasSubstr("host"),
                            HasSubstr("of the moments")));
}

TEST(ModelPicture, states_the_shards_of_a_replica_of_a_mesh) {
  Experiment e = three_layers(StrategyKind::hybrid, 4);
  e.strategy.mesh = {.data = 2, .pipeline = 2, .tensor = 1, .shards_data = false};
  const auto kept = [&] { return model_picture(e, "").kept.toStdString(); };
  EXPECT_THAT(kept(), Not(HasSubstr("moments")));
  e.strategy.mesh.shards_data = true;
  EXPECT_THAT(kept(), HasSubstr("shard of parameters, gradients and moments"));
  e.strategy.fsdp.shard = experiment::Shard::gradients;
  EXPECT_THAT(kept(), HasSubstr("shard of gradients and moments"));
}

TEST(ModelPicture, names_the_servers_of_a_layer) {
  Experiment e = three_layers(StrategyKind::parameter_server, 4);
  e.training.accumulation_steps = 1;
  for (const std::size_t server : {2, 3})
    e.topology.hosts[0].devices[server].role = topology::Role::parameter_server;
  e.strategy.servers.placement = experiment::VariablePlacement::by_hand;
  e.strategy.servers.places = {{"0.weight", 1}, {"0.bias", 0},   {"2.weight", 0},
                               {"2.bias", 0},   {"4.weight", 0}, {"4.bias", 0}};
  const ModelPicture picture = model_picture(e, "");
  ASSERT_EQ(picture.problem, std::nullopt);
  EXPECT_THAT(picture.node(0).holders, ElementsAre(2, 3))
      << "weight and bias are on different servers";
  EXPECT_THAT(picture.node(1).holders, ElementsAre(2));
  EXPECT_EQ(picture.columns[0].title, "Every worker");
  EXPECT_EQ(kept_text(picture.node(0)), "ranks 2, 3");
  EXPECT_THAT(sentence(picture, 1).toStdString(), HasSubstr("on rank 2"));
}

TEST(ModelPicture, names_the_only_rank_that_stores_parameters) {
  Experiment e = three_layers(StrategyKind::central_storage, 1);
  e.topology = tests::drawn_storage(2, 1);
  e.training.accumulation_steps = 1;
  EXPECT_THAT(model_picture(e, "").node(1).holders, ElementsAre(1));
  e = three_layers(StrategyKind::data_parallel, 2);
  e.training.accumulation_steps = 1;
  EXPECT_THAT(model_picture(e, "").node(1).holders, ElementsAre(0));
}

TEST(ModelPicture, states_layers_that_read_the_samples) {
  Experiment e = three_layers(StrategyKind::mirrored, 2);
  e.data.kind = data::DataKind::clicks;
  e.model.layers = {{model::LayerKind::embedding_bag},
                    {model::LayerKind::linear, 8},
                    {model::LayerKind::linear, 0},
                    {model::LayerKind::wide}};
  const ModelPicture picture = model_picture(e, "");
  ASSERT_EQ(picture.problem, std::nullopt);
  EXPECT_FALSE(picture.node(0).reads_samples) << "the samples are its only input";
  EXPECT_TRUE(picture.node(3).reads_samples);
  EXPECT_THAT(sentence(picture, 3).toStdString(), HasSubstr("table rows by sample"));
}

TEST(ModelPicture, has_one_column_for_one_device) {
  const ModelPicture picture = model_picture(three_layers(StrategyKind::mirrored, 1), "");
  EXPECT_EQ(ranks_of(picture), (std::vector<int>{0, 0, 0}));
  EXPECT_EQ(picture.columns[0].devices, QStringList("cpu0"));
  EXPECT_THAT(picture.kept.toStdString(), HasSubstr("One device"));
}

TEST(ModelPicture, has_problems_of_an_invalid_model) {
  Experiment e = three_layers(StrategyKind::mirrored, 2);
  e.model.layers.insert(e.model.layers.begin(), {model::LayerKind::attention});
  const ModelPicture picture = model_picture(e, "");
  EXPECT_TRUE(picture.nodes.empty());
  EXPECT_THAT(picture.problem, Optional(IsProblem("layer_needs_sequence", "Model: Layer 0")));
  e = three_layers(StrategyKind::mirrored, 2);
  e.data.kind = data::DataKind::csv;
  e.data.file = "nowhere.csv";
  EXPECT_THAT(model_picture(e, "/nonexistent").problem,
              Optional(IsProblem("missing_file", "Data: File")))
      << "the shape of the input is unknown";
}

TEST(ModelPicture, exists_without_a_drawing) {
  for (const StrategyKind kind : {StrategyKind::mirrored, StrategyKind::pipeline}) {
    Experiment e = three_layers(kind, 1);
    e.topology = {};
    const ModelPicture picture = model_picture(e, "");
    EXPECT_EQ(picture.count(), 3);
    ASSERT_EQ(picture.columns.size(), 1u);
    EXPECT_EQ(picture.columns[0].title, "No device");
  }
}

TEST(ModelPicture, shows_invalid_places_and_their_problems) {
  const Experiment e = by_hand(three_layers(StrategyKind::model_parallel, 2), {{"2", 1}, {"4", 7}});
  const ModelPicture picture = model_picture(e, "");
  EXPECT_EQ(ranks_of(picture), (std::vector<int>{-1, 1, -1}));
  EXPECT_EQ(picture.columns.back().title, "No device");
  EXPECT_THAT(picture.misplaced,
              Optional(IsProblem("layers_not_placed", "Strategy: Stages: Place 0: Segment")));
  EXPECT_THAT(picture.kept.toStdString(), HasSubstr("by hand"));
}

TEST(ModelPicture, shows_owners_despite_an_unsuitable_schedule) {
  Experiment e = gpt(2, 1, true);
  e.strategy.kind = StrategyKind::pipeline;
  e.strategy.stages.schedule = experiment::PipelineSchedule::pipedream;
  const ModelPicture picture = model_picture(e, "");
  EXPECT_THAT(picture.misplaced,
              Optional(IsProblem("schedule_does_not_fit", "Strategy: Stages: Schedule")));
  EXPECT_EQ(picture.column_of(0).rank, 0);
  EXPECT_EQ(picture.column_of(picture.count() - 2).rank, 1);
  e.strategy.stages.chunks = 0;
  EXPECT_EQ(model_picture(e, "").columns.back().title, "No device")
      << "no partition has 0 stages per rank";
}

TEST(ModelPicture, has_ranks_without_layers_if_ranks_exceed_layers) {
  const ModelPicture picture = model_picture(three_layers(StrategyKind::model_parallel, 5), "");
  EXPECT_EQ(picture.columns.size(), 5u);
  EXPECT_EQ(ranks_of(picture), (std::vector<int>{0, 1, 2}));
  EXPECT_THAT(picture.misplaced, Optional(AllOf(IsProblem("too_few_layers", "Drawing: Hosts"),
                                                Mentions("5 workers"), Mentions("3 layers"))));
}

TEST(LayerDescription, states_all_figures_of_a_layer) {
  const ModelPicture picture =
      model_picture(by_hand(gpt(2, 1, true), {{"0", 0}, {"1.4", 1}, {"2", 0}}), "");
  ASSERT_EQ(picture.problem, std::nullopt);
  const std::string last = sentence(picture, picture.count() - 1).toStdString();
  EXPECT_THAT(last, HasSubstr("tied: output 64 x "));
  EXPECT_THAT(last, HasSubstr("no parameters; "));
  EXPECT_THAT(last, AllOf(HasSubstr("table of layer 0"), HasSubstr("on cpu0, rank 0.")));
  const std::string sum = sentence(picture, picture.node_at("1.4")).toStdString();
  EXPECT_THAT(sum, HasSubstr("1.4 add ("));
  EXPECT_THAT(sum, AllOf(HasSubstr("output of layer 0"), HasSubstr("on cpu1, rank 1.")));
  EXPECT_THAT(details(picture, {0, 1, 2}).toStdString(), HasSubstr("3 layers"));
  EXPECT_EQ(details(picture, {}), "");
}

TEST(ModelPicture, has_trainers_before_servers_with_remote_layers) {
  Experiment e = three_layers(StrategyKind::rpc, 4);
  e.training.accumulation_steps = 1;
  for (const std::size_t server : {1, 3})
    e.topology.hosts[0].devices[server].role = topology::Role::parameter_server;
  const ModelPicture picture = model_picture(e, "");
  EXPECT_EQ(picture.misplaced, std::nullopt);
  EXPECT_TRUE(picture.splits);
  ASSERT_EQ(picture.columns.size(), 3u);
  EXPECT_EQ(picture.columns[0].title, "All trainers");
  EXPECT_EQ(picture.columns[0].devices, QStringList({"cpu0", "cpu2"}));
  EXPECT_EQ(picture.columns[0].parameter_bytes, 0);
  EXPECT_EQ(picture.columns[2].title, "cpu3");
  EXPECT_EQ(ranks_of(picture), (std::vector<int>{2, 3, 3}));
  EXPECT_THAT(sentence(picture, 2).toStdString(), HasSubstr("on cpu3, rank 3."));
  e.topology.hosts[0].devices[2].role = topology::Role::idle;
  EXPECT_EQ(model_picture(e, "").columns[0].title, "cpu0") << "there is only one trainer";
}

TEST(ModelPicture, without_servers_has_a_problem) {
  const ModelPicture picture = model_picture(three_layers(StrategyKind::rpc, 2), "");
  EXPECT_THAT(picture.misplaced, Optional(IsProblem("no_server", "Drawing: Hosts")));
  EXPECT_EQ(picture.columns.back().title, "No device");
}

}  // namespace
}  // namespace trainyard::ui
