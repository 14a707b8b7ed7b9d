// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/modelview/model_moves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/experiment/stages.h"
#include "tests/ui/modelview/model_samples.h"
#include "ui/model/document/layer_mime.h"

namespace trainyard::ui {
namespace {

using experiment::StagePlace;
using experiment::StrategyKind;
using test::by_hand;
using test::gpt;
using test::three_layers;
using testing::ElementsAre;
using testing::HasSubstr;

ModelPicture split(int devices = 2) {
  return model_picture(
      by_hand(three_layers(StrategyKind::model_parallel, devices), {{"0", 0}, {"4", 1}}), "");
}

TEST(ModelMoves, put_layers_where_they_are_wanted_and_nothing_else) {
  const ModelPicture picture = split(3);
  EXPECT_THAT(moved(picture, {1}, 1).value(), ElementsAre(0, 1, 1));
  EXPECT_THAT(moved(picture, {1, 2}, 2).value(), ElementsAre(0, 2, 2));
  EXPECT_THAT(moved_to_device(picture, {0}, "cpu2").value(), ElementsAre(2, 0, 1));
  EXPECT_THAT(moved(picture, {0}, 0).value(), ElementsAre(0, 0, 1)) << "it is there";
}

TEST(ModelMoves, are_refused_where_every_device_has_all_layers) {
  const ModelPicture picture = model_picture(three_layers(StrategyKind::ddp, 2), "");
  const auto refused = moved(picture, {0}, 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, "The strategy ddp does not place layers on single devices");
  EXPECT_THAT(refused.error().advice, HasSubstr("Set the strategy to model_parallel, pipeline"));
}

TEST(ModelMoves, do_not_tear_two_layers_apart_that_share_a_table) {
  experiment::Experiment e = test::gpt_in_shards();
  const ModelPicture picture = model_picture(e, "");
  const int last = picture.count() - 1;
  for (const Nodes& one : {Nodes{0}, Nodes{last}}) {
    const auto refused = moved(picture, one, 1);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().what,
              "Layer 2 is tied to the table of layer 0, so both must be on one device");
    EXPECT_EQ(refused.error().advice, "Move both layers together, or untie layer 2.");
  }
  EXPECT_TRUE(moved(picture, {0, last}, 1));
  e.strategy.mesh.shards_data = false;
  EXPECT_TRUE(moved(model_picture(e, ""), {last}, 1)) << "both stages have the table";
}

TEST(ModelMoves, between_stages_of_a_mesh_end_as_the_plan_has_them) {
  Document document;
  experiment::Experiment e = three_layers(StrategyKind::hybrid, 4);
  e.strategy.mesh = {2, 2, 1, false};
  document.reset(by_hand(e, {{"0", 0}, {"4", 1}}));
  const ModelPicture picture = model_picture(document.experiment(), "");
  ASSERT_EQ(picture.problem ? picture.problem->what : "", "");
  EXPECT_THAT(picture.owners, ElementsAre(0, 0, 1));
  const std::vector<int> owners = moved_to_device(picture, {1}, "cpu3").value();
  EXPECT_THAT(owners, ElementsAre(0, 1, 1)) << "cpu3 is a replica of stage 1";
  place_by_hand(document, "Move", picture, owners);
  EXPECT_THAT(document.experiment().strategy.stages.places,
              ElementsAre(StagePlace{"0", 0}, StagePlace{"2", 1}));
  EXPECT_EQ(experiment::owners_of(experiment::resolve(document.experiment(), "").value()), owners);
}

TEST(ModelMoves, are_refused_to_devices_that_do_not_train) {
  experiment::Experiment e = three_layers(StrategyKind::model_parallel, 3);
  e.topology.hosts[0].devices[2].role = topology::Role::idle;
  const auto refused = moved_to_device(model_picture(e, ""), {0}, "cpu2");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, "cpu2 is not a worker, so it cannot hold layers");
  const ModelPicture strays = model_picture(by_hand(e, {{"2", 0}}), "");
  EXPECT_FALSE(moved(strays, {1}, 2)) << "to be on no device is no place";
}

TEST(ModelMoves, become_places_one_for_each_run_of_layers) {
  const ModelPicture picture = split(3);
  EXPECT_THAT(places_for_owners(picture, {0, 0, 1}),
              ElementsAre(StagePlace{"0", 0}, StagePlace{"4", 1}));
  EXPECT_THAT(places_for_owners(picture, {2, 0, 2}),
              ElementsAre(StagePlace{"0", 2}, StagePlace{"2", 0}, StagePlace{"4", 2}));
}

TEST(ModelMoves, are_one_step_of_undo_and_end_as_the_plan_has_them) {
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

TEST(LayerMime, carries_names_of_layers_and_takes_no_others) {
  const QStringList layers{"0", "1.4"};
  EXPECT_EQ(layers_of_mime(to_mime(layers).get()), layers);
  EXPECT_TRUE(layers_of_mime(to_mime(QStringList{"0", "strategy"}).get()).isEmpty());
  EXPECT_TRUE(layers_of_mime(to_mime(QStringList{"0; rm"}).get()).isEmpty());
  EXPECT_TRUE(layers_of_mime(nullptr).isEmpty());
  const QMimeData other;
  EXPECT_TRUE(layers_of_mime(&other).isEmpty());
}

TEST(LayerMime, says_which_layers_in_words) {
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

TEST(ModelMoves, of_layers_that_are_called_go_from_server_to_server_and_end_as_the_plan_has_them) {
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
  EXPECT_EQ(refused.error().id, "layer_not_local");
  EXPECT_THAT(refused.error().advice, HasSubstr("Place the layer on a server"));
}

TEST(ModelMoves, to_servers_that_keep_tables_alone_are_refused_to_all_else) {
  experiment::Experiment e = called(experiment::RemoteLayers::embeddings);
  e.topology.hosts[0].devices[3].role = topology::Role::worker;
  const ModelPicture picture = model_picture(e, "");
  ASSERT_FALSE(picture.misplaced) << picture.misplaced->what;
  EXPECT_EQ(picture.column_of(0).title, "cpu2");
  EXPECT_EQ(picture.column_of(1).title, "All trainers");
  const int last = picture.count() - 1;
  const auto refused = moved(picture, {last}, 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().id, "layer_not_remote");
  EXPECT_FALSE(moved(picture, {0}, 0)) << "the table stays with the server";
}

}  // namespace
}  // namespace trainyard::ui
