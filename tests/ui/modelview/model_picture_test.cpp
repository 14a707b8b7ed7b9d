// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/modelview/model_picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "core/experiment/stages.h"
#include "tests/ui/modelview/model_samples.h"
#include "ui/modelview/model_text.h"

namespace trainyard::ui {
namespace {

using experiment::Experiment;
using experiment::StrategyKind;
using test::by_hand;
using test::gpt;
using test::ranks_of;
using test::three_layers;
using testing::ElementsAre;
using testing::HasSubstr;

std::string said(const std::optional<base::Problem>& problem) {
  return problem ? problem->what : "";
}

TEST(ModelPicture, has_the_figures_of_every_layer_and_of_all_together) {
  const ModelPicture picture = model_picture(three_layers(StrategyKind::mirrored, 2), "");
  ASSERT_EQ(said(picture.problem), "");
  ASSERT_EQ(picture.count(), 3);
  EXPECT_EQ(picture.input, "28 x 28 x 1");
  EXPECT_EQ(picture.loss, "softmax cross-entropy over 10 classes");
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
TEST(ModelPicture, says_which_part_of_a_layer_a_rank_has) {
  const ModelPicture picture = model_picture(three_layers(StrategyKind::tensor_parallel, 2), "");
  ASSERT_EQ(picture.count(), 3);
  EXPECT_EQ(picture.node(0).split,
            (LayerSplit{model::Split::outputs, false, 32, {{0, 16, {0}}, {16, 16, {1}}}}));
  EXPECT_EQ(kept_text(picture.node(0)), "ranks 0, 1: 16 of 32 outputs each");
  EXPECT_EQ(kept_text(picture.node(1)), "ranks 0, 1: 16 of 32 inputs each");
  EXPECT_EQ(kept_text(picture.node(2)), "ranks 0, 1: 5 of 10 outputs each");
  EXPECT_THAT(sentence(picture, 1).toStdString(),
              HasSubstr("of its 32 inputs rank 0 has 0 to 15, rank 1 has 16 to 31."));
}

// Stages have other layers, replicas the same parts; heads are shared out of query, key and value
// alike.
TEST(ModelPicture, says_which_part_every_replica_of_a_mesh_has) {
  Experiment e = gpt(8, 1, false);
  e.strategy.kind = StrategyKind::hybrid;
  e.strategy.mesh = {2, 2, 2, false};
  const ModelPicture picture = model_picture(e, "");
  ASSERT_EQ(said(picture.problem), "");
  const int attends = picture.node_at("1.1");
  const LayerSplit& split = picture.node(attends).split;
  ASSERT_EQ(split.parts.size(), 2u);
  EXPECT_TRUE(split.is_qkv);
  EXPECT_EQ(split.parts[0].count + split.parts[1].count, split.of);
  const int first = split.parts[0].ranks.front();
  EXPECT_THAT(split.parts[0].ranks, ElementsAre(first, first + 2))
      << "the same part of the other replica";
  EXPECT_THAT(split.parts[1].ranks, ElementsAre(first + 1, first + 3));
  EXPECT_THAT(sentence(picture, attends).toStdString(),
              HasSubstr("of its 16 outputs of query, key and value ranks "));
  const int norm = picture.node_at("1.0");
  EXPECT_TRUE(picture.node(norm).split.parts.empty());
  EXPECT_EQ(picture.node(norm).holders.size(), 4u) << "all of its stage have it whole";
  const int attention = picture.node_at("1.2");
  EXPECT_EQ(picture.node(attention).holders, picture.node(norm).holders)
      << "though it keeps nothing";
  EXPECT_THAT(sentence(picture, attention).toStdString(), HasSubstr("; on ranks "));
  ASSERT_EQ(picture.columns.size(), 2u);
  EXPECT_EQ(picture.columns.front().title, "Stage 0");
  EXPECT_EQ(picture.columns.front().devices.size(), 4) << "of both replicas, both parts";
  EXPECT_EQ(picture.owners.front(), 0);
  EXPECT_EQ(picture.owners.back(), 1);
  EXPECT_THAT(column_details(picture.columns[1]).toStdString(), HasSubstr("Stage 1 ("));
  EXPECT_EQ(picture.kept,
            "In every replica each stage holds some of the layers, and each of its devices a shard "
            "of the layers "
            "that can be split. Layers are balanced by compute cost.");
}

// All devices of a mesh of one stage have the same layers.
TEST(ModelPicture, has_no_columns_for_a_mesh_of_one_stage) {
  Experiment e = three_layers(StrategyKind::hybrid, 4);
  e.strategy.mesh = {2, 1, 2, false};
  const ModelPicture picture = model_picture(e, "");
  EXPECT_FALSE(picture.splits);
  EXPECT_EQ(picture.columns.front().title, "All devices");
  EXPECT_EQ(picture.kept,
            "In every replica each device holds a shard of the layers that can be split, and the "
            "full other layers.");
}

// A stage's parameters are those of one of its devices: both stages count the table.
TEST(ModelPicture, counts_a_table_in_both_stages_that_have_it) {
  Experiment e = gpt(2, 1, true);
  e.strategy.kind = StrategyKind::pipeline;
  const ModelPicture picture = model_picture(e, "");
  ASSERT_EQ(said(picture.problem), "");
  ASSERT_EQ(picture.owners.back(), 1);
  std::int64_t all = 0;
  for (const ModelColumn& column : picture.columns) all += column.parameter_bytes;
  EXPECT_EQ(all, picture.parameter_bytes + picture.node(0).parameter_bytes);
}

TEST(ModelPicture, counts_in_numbers_of_the_precision) {
  Experiment e = three_layers(StrategyKind::mirrored, 2);
  e.training.precision = experiment::Precision::fp64;
  const ModelPicture picture = model_picture(e, "");
  EXPECT_EQ(picture.node(2).parameter_bytes, 8 * 170);
  EXPECT_EQ(picture.node(2).activation_bytes, 8 * 8 * 10);
}

TEST(ModelPicture, stands_on_the_ranks_that_the_plan_gives_the_layers_to) {
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
  EXPECT_EQ(picture.kept, "Each device holds some of the layers, balanced by compute cost.");
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

TEST(ModelPicture, says_what_is_tied_and_counts_the_table_once) {
  const ModelPicture picture = model_picture(gpt(2, 1, true), "");
  const ModelNode& last = picture.nodes.back();
  EXPECT_EQ(last.tied_to, 0);
  EXPECT_EQ(last.parameters, 0);
  EXPECT_GT(last.backward_flops, last.forward_flops) << "it learns the table nevertheless";
}

TEST(ModelPicture, of_replicas_has_one_column_and_says_who_has_what) {
  const std::pair<StrategyKind, const char*> kinds[] = {
      {StrategyKind::mirrored,
       "Every device holds all layers, with the same parameters on all devices."},
      {StrategyKind::local_sgd, "Every device holds all layers, with local parameters."},
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

TEST(ModelPicture, says_what_a_rank_of_fsdp_keeps) {
  Experiment e = three_layers(StrategyKind::fsdp, 4);
  const auto kept = [&] { return model_picture(e, "").kept.toStdString(); };
  EXPECT_THAT(kept(), HasSubstr("stores a shard (1/n) of parameters, gradients and moments"));
  e.strategy.fsdp.shard = experiment::Shard::gradients;
  EXPECT_THAT(kept(), HasSubstr("the full parameters and a shard (1/n) of gradients and moments"));
  e.strategy.fsdp.shard = experiment::Shard::optimizer;
  e.strategy.fsdp.group = experiment::ShardGroup::host;
  EXPECT_THAT(kept(), HasSubstr("the full parameters and gradients and a shard (sharded "
                                "over the devices of its host) of the moments"));
}

TEST(ModelPicture, says_what_a_replica_of_a_mesh_keeps) {
  Experiment e = three_layers(StrategyKind::hybrid, 4);
  e.strategy.mesh = {.data = 2, .pipeline = 2, .tensor = 1, .shards_data = false};
  const auto kept = [&] { return model_picture(e, "").kept.toStdString(); };
  EXPECT_THAT(kept(), Not(HasSubstr("stores only a shard")));
  e.strategy.mesh.shards_data = true;
  EXPECT_THAT(kept(),
              HasSubstr("Each replica stores only a shard of parameters, gradients and moments"));
  e.strategy.fsdp.shard = experiment::Shard::gradients;
  EXPECT_THAT(kept(), HasSubstr("Each replica stores only a shard of gradients and moments"));
}

TEST(ModelPicture, names_the_servers_that_keep_a_layer) {
  Experiment e = three_layers(StrategyKind::parameter_server, 4);
  e.training.accumulation_steps = 1;
  for (const std::size_t server : {2, 3})
    e.topology.hosts[0].devices[server].role = topology::Role::parameter_server;
  e.strategy.servers.placement = experiment::VariablePlacement::by_hand;
  e.strategy.servers.places = {{"0.weight", 1}, {"0.bias", 0},   {"2.weight", 0},
                               {"2.bias", 0},   {"4.weight", 0}, {"4.bias", 0}};
  const ModelPicture picture = model_picture(e, "");
  ASSERT_EQ(said(picture.problem), "");
  EXPECT_THAT(picture.node(0).holders, ElementsAre(2, 3))
      << "its bias is on another one than its weight";
  EXPECT_THAT(picture.node(1).holders, ElementsAre(2));
  EXPECT_EQ(picture.columns[0].title, "Every worker");
  EXPECT_EQ(kept_text(picture.node(0)), "ranks 2, 3");
  EXPECT_THAT(sentence(picture, 1).toStdString(), HasSubstr("parameters stored on rank 2"));
}

TEST(ModelPicture, names_the_one_that_keeps_them_for_all) {
  Experiment e = three_layers(StrategyKind::central_storage, 1);
  e.topology = tests::drawn_storage(2, 1);
  e.training.accumulation_steps = 1;
  EXPECT_THAT(model_picture(e, "").node(1).holders, ElementsAre(1));
  e = three_layers(StrategyKind::data_parallel, 2);
  e.training.accumulation_steps = 1;
  EXPECT_THAT(model_picture(e, "").node(1).holders, ElementsAre(0));
}

TEST(ModelPicture, says_which_layer_reads_the_samples_besides) {
  Experiment e = three_layers(StrategyKind::mirrored, 2);
  e.data.kind = data::DataKind::clicks;
  e.model.layers = {{model::LayerKind::embedding_bag},
                    {model::LayerKind::linear, 8},
                    {model::LayerKind::linear, 0},
                    {model::LayerKind::wide}};
  const ModelPicture picture = model_picture(e, "");
  ASSERT_EQ(said(picture.problem), "");
  EXPECT_FALSE(picture.node(0).reads_samples) << "it reads nothing else";
  EXPECT_TRUE(picture.node(3).reads_samples);
  EXPECT_THAT(sentence(picture, 3).toStdString(), HasSubstr("looks up table rows by sample"));
}

TEST(ModelPicture, of_one_device_stands_on_it) {
  const ModelPicture picture = model_picture(three_layers(StrategyKind::mirrored, 1), "");
  EXPECT_EQ(ranks_of(picture), (std::vector<int>{0, 0, 0}));
  EXPECT_EQ(picture.columns[0].devices, QStringList("cpu0"));
  EXPECT_EQ(picture.kept, "One device holds all layers.");
}

TEST(ModelPicture, of_a_model_that_cannot_be_says_why_in_words) {
  Experiment e = three_layers(StrategyKind::mirrored, 2);
  e.model.layers.insert(e.model.layers.begin(), {model::LayerKind::attention});
  const ModelPicture picture = model_picture(e, "");
  EXPECT_TRUE(picture.nodes.empty());
  ASSERT_TRUE(picture.problem);
  EXPECT_EQ(picture.problem->where.substr(0, 14), "Model: Layer 0");
  e = three_layers(StrategyKind::mirrored, 2);
  e.data.kind = data::DataKind::csv;
  e.data.file = "nowhere.csv";
  EXPECT_THAT(said(model_picture(e, "/nonexistent").problem), testing::Ne(""))
      << "the input is unknown";
}

TEST(ModelPicture, is_there_though_nothing_is_drawn_yet) {
  for (const StrategyKind kind : {StrategyKind::mirrored, StrategyKind::pipeline}) {
    Experiment e = three_layers(kind, 1);
    e.topology = {};
    const ModelPicture picture = model_picture(e, "");
    EXPECT_EQ(picture.count(), 3);
    ASSERT_EQ(picture.columns.size(), 1u);
    EXPECT_EQ(picture.columns[0].title, "No device");
  }
}

TEST(ModelPicture, shows_places_that_are_wrong_as_they_are_and_what_is_wrong_with_them) {
  const Experiment e = by_hand(three_layers(StrategyKind::model_parallel, 2), {{"2", 1}, {"4", 7}});
  const ModelPicture picture = model_picture(e, "");
  EXPECT_EQ(ranks_of(picture), (std::vector<int>{-1, 1, -1}));
  EXPECT_EQ(picture.columns.back().title, "No device");
  EXPECT_THAT(said(picture.misplaced), HasSubstr("the layers before 2 are not placed"));
  EXPECT_EQ(picture.kept, "Each device holds some of the layers, placed by hand.");
}

TEST(ModelPicture, shows_who_has_what_though_the_schedule_does_not_take_it) {
  Experiment e = gpt(2, 1, true);
  e.strategy.kind = StrategyKind::pipeline;
  e.strategy.stages.schedule = experiment::PipelineSchedule::pipedream;
  const ModelPicture picture = model_picture(e, "");
  EXPECT_THAT(said(picture.misplaced), HasSubstr("gives each worker one range of layers"));
  EXPECT_EQ(picture.column_of(0).rank, 0);
  EXPECT_EQ(picture.column_of(picture.count() - 2).rank, 1);
  e.strategy.stages.chunks = 0;
  EXPECT_EQ(model_picture(e, "").columns.back().title, "No device")
      << "nothing can be shared out by that";
}

TEST(ModelPicture, of_more_ranks_than_layers_leaves_some_without) {
  const ModelPicture picture = model_picture(three_layers(StrategyKind::model_parallel, 5), "");
  EXPECT_EQ(picture.columns.size(), 5u);
  EXPECT_EQ(ranks_of(picture), (std::vector<int>{0, 1, 2}));
  EXPECT_THAT(said(picture.misplaced), HasSubstr("5 workers exceed the 3 layers"));
}

TEST(ModelWords, say_all_that_is_known_of_a_layer) {
  const ModelPicture picture =
      model_picture(by_hand(gpt(2, 1, true), {{"0", 0}, {"1.4", 1}, {"2", 0}}), "");
  ASSERT_EQ(said(picture.problem), "");
  const std::string last = sentence(picture, picture.count() - 1).toStdString();
  EXPECT_THAT(last, HasSubstr("tied: output 64 x "));
  EXPECT_THAT(last, HasSubstr("no parameters; "));
  EXPECT_THAT(last, HasSubstr("tied to the table of layer 0; on cpu0, rank 0."));
  const std::string sum = sentence(picture, picture.node_at("1.4")).toStdString();
  EXPECT_THAT(sum, HasSubstr("1.4 add (1 transformer, block 0): "));
  EXPECT_THAT(sum, HasSubstr("adds the output of layer 0; on cpu1, rank 1."));
  EXPECT_THAT(details(picture, {0, 1, 2}).toStdString(), HasSubstr("3 layers selected: "));
  EXPECT_EQ(details(picture, {}), "");
}

TEST(ModelPicture, of_layers_that_are_called_has_the_trainers_first_and_then_each_server) {
  Experiment e = three_layers(StrategyKind::rpc, 4);
  e.training.accumulation_steps = 1;
  for (const std::size_t server : {1, 3})
    e.topology.hosts[0].devices[server].role = topology::Role::parameter_server;
  const ModelPicture picture = model_picture(e, "");
  EXPECT_EQ(said(picture.misplaced), "");
  EXPECT_TRUE(picture.splits);
  ASSERT_EQ(picture.columns.size(), 3u);
  EXPECT_EQ(picture.columns[0].title, "All trainers");
  EXPECT_EQ(picture.columns[0].devices, QStringList({"cpu0", "cpu2"}));
  EXPECT_EQ(picture.columns[0].parameter_bytes, 0);
  EXPECT_EQ(picture.columns[2].title, "cpu3");
  EXPECT_EQ(ranks_of(picture), (std::vector<int>{2, 3, 3}));
  EXPECT_THAT(sentence(picture, 2).toStdString(), HasSubstr("; on cpu3, rank 3."));
  e.topology.hosts[0].devices[2].role = topology::Role::idle;
  EXPECT_EQ(model_picture(e, "").columns[0].title, "cpu0") << "there is but one";
}

TEST(ModelPicture, of_layers_that_nobody_keeps_says_what_is_missing) {
  const ModelPicture picture = model_picture(three_layers(StrategyKind::rpc, 2), "");
  EXPECT_THAT(said(picture.misplaced), HasSubstr("no device has the role"));
  EXPECT_EQ(picture.columns.back().title, "No device");
}

}  // namespace
}  // namespace trainyard::ui
