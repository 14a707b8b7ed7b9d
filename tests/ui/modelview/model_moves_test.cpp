// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/modelview/model_moves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/experiment/stages.h"
#include "tests/problem_matchers.h"
#include "tests/ui/modelview/model_samples.h"
#include "ui/model/document/layer_mime.h"

namespace trainyard::ui {
namespace {

using base::IsProblem;
using base::Mentions;
using experiment::StagePlace;
using experiment::StrategyKind;
using test::by_hand;
using test::gpt;
using test::three_layers;
using testing::AllOf;
using testing::ElementsAre;

ModelPicture split(int devices = 2) {
  return model_picture(
      by_hand(three_layers(StrategyKind::model_parallel, devices), {{"0", 0}, {"4", 1}}), "");
}

TEST(ModelMoves, move_only_the_selected_layers) {
  const ModelPicture picture = split(3);
  EXPECT_THAT(moved(picture, {1}, 1).value(), ElementsAre(0, 1, 1));
  EXPECT_THAT(moved(picture, {1, 2}, 2).value(), ElementsAre(0, 2, 2));
  EXPECT_THAT(moved_to_device(picture, {0}, "cpu2").value(), ElementsAre(2, 0, 1));
  EXPECT_THAT(moved(picture, {0}, 0).value(), ElementsAre(0, 0, 1)) << "it is already there";
}

TEST(ModelMoves, are_refused_if_every_device_has_all_layers) {
  const ModelPicture picture = model_picture(three_layers(StrategyKind::ddp, 2), "");
  const auto refused = moved(picture, {0}, 0);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error(), AllOf(IsProblem("layers_not_placed_by_strategy", "strategy.kind"),
                                     Mentions("ddp"), Mentions("model_parallel, pipeline")));
}

TEST(ModelMoves, do_not_separate_tied_layers) {
  experiment::Experiment e = test::gpt_in_shards();
  const ModelPicture picture = model_picture(e, "");
  const int last = picture.count() - 1;
  for (const Nodes& one : {Nodes{0}, Nodes{last}}) {
    const auto refused = moved(picture, one, 1);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error(), AllOf(IsProblem("tied_layers_apart", "model.layers"),
                                       Mentions("Layer 2"), Mentions("layer 0")));
  }
  EXPECT_TRUE(moved(picture, {0, last}, 1));
  e.strategy.mesh.shards_data = false;
  EXPECT_TRUE(moved(model_picture(e, ""), {last}, 1)) << "both stages have the table";
}

TEST(ModelMoves, between_stages_of_a_mesh_match_the_plan) {
  Document document;
  experiment::Experiment e = three_layers(StrategyKind::hybrid, 4);
  e.strategy.mesh = {2, 2, 1, false};
  document.reset(by_hand(e, {{"0", 0}, {"4", 1}}));
  const ModelPicture picture = model_picture(document.experiment(), "");
  ASSERT_EQ(picture.problem, std::nullopt);
  EXPECT_THAT(picture.owners, ElementsAre(0, 0, 1));
  const std::vector<int> owners = moved_to_device(picture, {1}, "cpu3").value();
  EXPECT_THAT(owners, ElementsAre(0, 1, 1)) << "cpu3 is a replica of stage 1";
  place_by_hand(document, "Move", picture, owners);
  EXPECT_THAT(document.experiment().strategy.stages.places,
              ElementsAre(StagePlace{"0", 0}, StagePlace{"2", 1}));
  EXPECT_EQ(experiment::owners_of(experiment::resolve(document.experiment(), "").value()), owners);
}

TEST(ModelMoves, are_refused_for_devices_that_are_not_workers) {
  experiment::Experiment e = three_layers(StrategyKind::model_parallel, 3);
  e.topology.hosts[0].devices[2].role = topology::Role::idle;
  const auto refused = moved_to_device(model_picture(e, ""), {0}, "cpu2");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error(),
              AllOf(IsProblem("device_not_worker", "cpu2"), Mentions("cpu2"), Mentions("worker")));
  const ModelPicture strays = model_picture(by_hand(e, {{"2", 0}}), "");
  EXPECT_FALSE(moved(strays, {1}, 2)) << "the column without a device is not a destination";
}

TEST(ModelMoves, produce_one_place_for_each_range_of_layers) {
  const ModelPicture picture = split(3);
  EXPECT_THAT(places_for_owners(picture, {0, 0, 1}),
              ElementsAre(StagePlace{"0", 0}, StagePlace{"4", 1}));
  EXPECT_THAT(places_for_owners(picture, {2, 0, 2}),
              ElementsAre(StagePlace{"0", 2}, StagePlace{"2", 0}, StagePlace{"4", 2}));
}

TEST(ModelMoves, are_one_undo_step_and_match_the_plan) {
  Document document;
  const experiment::Experiment before = three_layers(StrategyKind::model_parallel, 2);
  document.reset(before);
  const ModelPicture picture = model_picture(before, "");
  const std::vector<int> owners = moved(picture, {0, 1}, 1).value();
  place_by_hand(document, "Move", picture, moved(picture, {0}, picture.owners[0]).value());
  EXPECT_EQ(document.undo_stack().count(), 0) << "nothing moved";
  std::vector<int> other = owners;
  other[2] = 0;
  place_by_hand(document, "Move 2 layers to rank 1", picture, other);
  EXPECT_EQ(document.undo_stack().count(), 1);
  EXPECT_EQ(document.undo_stack().undoText(), "Move 2 layers to rank 1");
  EXPECT_EQ(document.experiment().strategy.stages.partition, experiment::Partition::by_hand);
  EXPECT_EQ(experiment::owners_of(experiment::resolve(document.experiment(), "").value()), other);
  document.undo_stack().undo();
  EXPECT_EQ(document.experiment(), before) << "balanced by compute cost again";
  document.undo_stack().redo();
  EXPECT_THAT(document.experiment().strategy.stages.places,
              ElementsAre(StagePlace{"0", 1}, StagePlace{"4", 0}));
}

TEST(LayerMime, contains_names_of_layers_and_rejects_other_types) {
  const QStringList layers{"0", "1.4"};
  EXPECT_EQ(layers_of_mime(to_mime(layers).get()), layers);
  EXPECT_TRUE(layers_of_mime(to_mime(QStringList{"0", "strategy"}).get()).isEmpty());
  EXPECT_TRUE(layers_of_mime(to_mime(QStringList{"0; rm"}).get()).isEmpty());
  EXPECT_TRUE(layers_of_mime(nullptr).isEmpty());
  const QMimeData other;
  EXPECT_TRUE(layers_of_mime(&other).isEmpty());
}

TEST(LayerMime, has_a_text_that_lists_the_layers) {
  EXPECT_EQ(layer_list_text({"2"}), "layer 2");
  EXPECT_EQ(layer_list_text({"0", "11"}), "layers 0 and 11");
  EXPECT_EQ(layer_list_text({"0", "1", "2"}), "3 layers");
}

// Experiment with three layers on two servers.
experiment::Experiment called(experiment::RemoteLayers remote) {
  experiment::Experiment e = remote == experiment::RemoteLayers::all
                                 ? three_layers(StrategyKind::rpc, 4)
                                 : gpt(4, 1, false);
  e.strategy.kind = StrategyKind::rpc;
  e.strategy.rpc.remote = remote;
  e.training.accumulation_steps = 1;
  for (const std::size_t server : {2, 3})
    e.topology.hosts[0].devices[server].role = topology::Role::parameter_server;
  return e;
}

TEST(ModelMoves, between_servers_match_the_plan) {
  Document document;
  document.reset(called(experiment::RemoteLayers::all));
  const ModelPicture picture = model_picture(document.experiment(), "");
  ASSERT_FALSE(picture.misplaced);
  EXPECT_THAT(picture.owners, ElementsAre(1, 2, 2));
  const std::vector<int> owners = moved_to_device(picture, {1}, "cpu2").value();
  EXPECT_THAT(owners, ElementsAre(1, 1, 2));
  place_by_hand(document, "Move", picture, owners);
  EXPECT_THAT(document.experiment().strategy.stages.places,
              ElementsAre(StagePlace{"0", 1}, StagePlace{"4", 2}));
  EXPECT_EQ(experiment::owners_of(experiment::resolve(document.experiment(), "").value()), owners);
  const auto refused = moved_to_device(picture, {1}, "cpu1");
  ASSERT_FALSE(refused) << "a trainer";
  EXPECT_THAT(refused.error(), AllOf(IsProblem("layer_not_local", "Strategy: Stages: Places"),
                                     Mentions("a server")));
}

TEST(ModelMoves, to_servers_with_tables_only_are_refused_for_other_layers) {
  experiment::Experiment e = called(experiment::RemoteLayers::embeddings);
  e.topology.hosts[0].devices[3].role = topology::Role::worker;
  const ModelPicture picture = model_picture(e, "");
  ASSERT_EQ(picture.misplaced, std::nullopt);
  EXPECT_EQ(picture.column_of(0).title, "cpu2");
  EXPECT_EQ(picture.column_of(1).title, "All trainers");
  const int last = picture.count() - 1;
  const auto refused = moved(picture, {last}, 1);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error(), IsProblem("layer_not_remote", "Strategy: Stages: Places"));
  EXPECT_FALSE(moved(picture, {0}, 0)) << "the table stays with the server";
}

}  // namespace
}  // namespace trainyard::ui
