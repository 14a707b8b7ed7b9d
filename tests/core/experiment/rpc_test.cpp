// SPDX-License-Identifier: GPL-3.0-or-later
// Assignment of layers to trainers and servers, routes of outputs, and experiments that are
// refused.
#include "core/experiment/rpc.h"

#include <gmock/gmock.h>

#include "core/experiment/buckets.h"
#include "core/experiment/fsdp.h"
#include "core/experiment/mesh.h"
#include "core/experiment/rank_duties.h"
#include "core/experiment/servers.h"
#include "core/experiment/stages.h"
#include "core/experiment/unused_settings.h"
#include "core/experiment/validation_result.h"
#include "tests/core/experiment/problems.h"
#include "tests/core/strategy/rpc_experiments.h"

namespace trainyard::experiment {
namespace {

using strategy::called;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr auto kAll = RemoteLayers::all, kTables = RemoteLayers::embeddings;

TEST(Rpc, trainers_are_replicas_of_the_first_stage_and_servers_later_stages) {
  const Resolved e = strategy::resolved(called(strategy::small(1), 3, 2));
  const Mesh mesh = mesh_of(e);
  EXPECT_EQ(mesh, (Mesh{3, 3, 1, true}));
  EXPECT_EQ(mesh.ranks(), 5);
  for (int rank = 0; rank < mesh.ranks(); ++rank)
    EXPECT_EQ(mesh.rank_of(mesh.place_of(rank)), rank);
  EXPECT_EQ(mesh.place_of(2), (MeshCoordinates{2, 0, 0}));
  EXPECT_EQ(mesh.place_of(4), (MeshCoordinates{0, 2, 0}));
  EXPECT_EQ(mesh.rank_of({2, 1, 0}), 3) << "the server is the same for all trainers";
  EXPECT_THAT(mesh.replicas_of(1), ElementsAre(0, 1, 2));
  EXPECT_THAT(mesh.replicas_of(4), ElementsAre(4));
  EXPECT_THAT(mesh.stage(1), ElementsAre(3));
  EXPECT_EQ(identical_parameter_groups(e), (std::vector<std::vector<int>>{{0, 1, 2}, {3}, {4}}));
  EXPECT_EQ(duty_of(e.document, 3), "parameter_server");
  EXPECT_EQ(e.servers, 0) << "calls are synchronous";
}

TEST(Rpc, reports_unused_settings) {
  Experiment e = called(strategy::small(1), 2, 1);
  EXPECT_THAT(unused_stage_settings(strategy::resolved(e)), testing::IsEmpty());
  e.strategy.stages.schedule = PipelineSchedule::gpipe;
  e.strategy.stages.partition = Partition::memory;
  EXPECT_THAT(
      unused_stage_settings(strategy::resolved(e)),
      ElementsAre(HasSubstr("strategy.stages.schedule=gpipe"),
                  AllOf(HasSubstr("strategy.stages.partition=memory"), HasSubstr("one server"))));
  e = called(strategy::small(1), 2, 2);
  e.strategy.stages.partition = Partition::memory;
  EXPECT_THAT(unused_stage_settings(strategy::resolved(e)), testing::IsEmpty())
      << "three layers for two servers";
  e = called(strategy::small_wide_and_deep(1), 2, 2, kTables);
  e.strategy.stages.partition = Partition::memory;
  EXPECT_THAT(unused_stage_settings(strategy::resolved(e)),
              ElementsAre(AllOf(HasSubstr("strategy.stages.partition=memory"),
                                Not(HasSubstr("one server")))));
}

TEST(Rpc, assigns_samples_only_to_trainers) {
  const Resolved e = strategy::resolved(called(strategy::small(1), 3, 2));
  EXPECT_EQ(e.global_batch, 24);
  EXPECT_EQ(ranks_of_step(e.document), 3);
  std::vector<std::int64_t> held_out;
  held_out.reserve(e.ranks.size());
  for (int rank = 0; rank < e.world(); ++rank) held_out.push_back(e.held_out(rank).second);
  EXPECT_THAT(held_out, ElementsAre(18, 18, 17, 0, 0));
}

TEST(Rpc, servers_divide_all_layers_or_the_tables) {
  EXPECT_THAT(owners_of(strategy::resolved(called(strategy::small(1), 1, 3))),
              ElementsAre(1, 2, 3));
  EXPECT_THAT(
      owners_of(strategy::resolved(called(strategy::small_wide_and_deep(1), 2, 1, kTables))),
      ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(
      owners_of(strategy::resolved(called(strategy::small_wide_and_deep(1), 2, 2, kTables))),
      ElementsAre(1, 0, 0, 2));
  const Resolved tied = strategy::resolved(called(strategy::small_tied_gpt(1), 2, 1, kTables));
  EXPECT_EQ(owners_of(tied).front(), 1);
  EXPECT_EQ(owners_of(tied).back(), 1) << "the tied layer is on the server of the table";
  EXPECT_THAT(stages_line(strategy::resolved(called(strategy::small(1), 3, 1))).value(),
              AllOf(HasSubstr("rank 3 has layers 0 to 4"), HasSubstr("ranks 0 to 2")));
  for (const Partition by : {Partition::cost, Partition::memory, Partition::measured}) {
    Experiment e = called(strategy::small(1), 2, 2);
    e.strategy.stages.partition = by;
    EXPECT_THAT(owners_of(strategy::resolved(e)),
                testing::AnyOf(ElementsAre(1, 1, 2), ElementsAre(1, 2, 2)))
        << static_cast<int>(by);
  }
}

// A slower server has fewer layers.
TEST(Rpc, servers_divide_layers_by_speed) {
  Experiment e = called(strategy::small(1), 1, 2);
  e.model.layers = {{model::LayerKind::linear, 7},
                    {model::LayerKind::linear, 7},
                    {model::LayerKind::linear, 7},
                    {model::LayerKind::linear, 0}};
  e.topology.hosts[0].devices[0].slow_down = 10;
  ASSERT_EQ(e.topology.hosts[0].devices[0].role, topology::Role::parameter_server);
  EXPECT_THAT(owners_of(strategy::resolved(e)), ElementsAre(1, 2, 2, 2));
}

// Rank 0 are the trainers. By value, outputs return to them between servers.
TEST(RpcRoute, begins_and_ends_at_the_trainer_and_returns_to_it_by_value) {
  const auto ranks = [](RemoteOutput output) {
    const model::StageGraph stage_graph =
        stage_graph_of(strategy::resolved(called(strategy::small(1), 1, 3, kAll, output)));
    std::vector<int> list;
    for (const model::Stage& stage : stage_graph.stages) list.push_back(stage.rank);
    return list;
  };
  EXPECT_THAT(ranks(RemoteOutput::value), ElementsAre(0, 1, 0, 2, 0, 3, 0));
  EXPECT_THAT(ranks(RemoteOutput::reference), ElementsAre(0, 1, 2, 3, 0));
}

TEST(RpcRoute, sends_samples_to_tables_and_sample_numbers_to_dropout) {
  const auto crossed = [](const Experiment& e, int value) {
    const model::StageGraph stage_graph = stage_graph_of(strategy::resolved(e));
    std::vector<int> to;
    for (const model::Crossing& crossing : stage_graph.crossings)
      if (crossing.value == value) to.push_back(stage_graph.rank_of(crossing.to));
    return to;
  };
  EXPECT_THAT(crossed(called(strategy::small_wide_and_deep(1), 1, 2, kTables), model::kSamples),
              ElementsAre(1, 2));
  EXPECT_THAT(crossed(called(strategy::small_wide_and_deep(1), 1, 1, kTables), model::kSamples),
              ElementsAre(1))
      << "sent once";
  EXPECT_THAT(crossed(called(strategy::small_images(1), 1, 1), model::kSampleNumbers),
              ElementsAre(1));
  EXPECT_THAT(crossed(called(strategy::small(1), 1, 1), model::kSampleNumbers), ElementsAre());
}

TEST(Rpc, refuses_unsupported_drawings) {
  Experiment none = called(strategy::small(1), 2, 0);
  EXPECT_EQ(first_problem(none).where, "topology.hosts");
  EXPECT_EQ(first_problem(none).id, "no_server");
  Experiment alone = called(strategy::small(1), 0, 2);
  EXPECT_EQ(first_problem(alone).where, "topology.hosts");
  EXPECT_EQ(first_problem(alone).id, "no_worker");
  Experiment many = called(strategy::small(1), 1, 4);
  EXPECT_EQ(first_problem(many).id, "too_many_servers");
  Experiment tables = called(strategy::small_clicks(1), 1, 2, kTables);
  EXPECT_EQ(first_problem(tables).id, "too_many_servers");
  Experiment evaluates = called(strategy::small(1), 2, 2);
  evaluates.topology.hosts[0].devices[1].role = topology::Role::evaluator;
  EXPECT_EQ(first_problem(evaluates).id, "role_not_used");
}

TEST(Rpc, refuses_unsupported_settings) {
  const Experiment plain = called(strategy::small(1), 2, 1);
  EXPECT_EQ(first_problem(called(strategy::small(1), 2, 1, kTables)).where, "strategy.rpc.remote");
  Experiment owned = plain, compressed = plain, gloo = plain, resumed = plain;
  owned.data.sharding.kind = data::ShardingKind::label_skew;
  EXPECT_EQ(first_problem(owned).where, "data.sharding.kind");
  compressed.strategy.compression.kind = compute::compression::Scheme::fp16;
  EXPECT_EQ(first_problem(compressed).where, "strategy.compression.kind");
  gloo.strategy.engine = Engine::gloo;
  EXPECT_EQ(first_problem(gloo).where, "strategy.engine");
  resumed.run.checkpoint_every_steps = 5;
  EXPECT_EQ(first_problem(resumed).where, "run.checkpoint_every_steps");
  Experiment synchronized =
      called(strategy::synchronized(strategy::small_normalized_images(1)), 2, 1);
  EXPECT_THAT(first_problem(synchronized).where, HasSubstr("synchronized"));
  EXPECT_EQ(
      first_problem(called(strategy::synchronized(strategy::small_normalized_images(1)), 1, 1)),
      base::Problem{});
  EXPECT_EQ(first_problem(plain), base::Problem{});
}

TEST(Rpc, refuses_an_algorithm_that_does_not_fit_the_reducing_ranks) {
  Experiment e = called(strategy::small_wide_and_deep(1), 4, 1, kTables);
  e.topology = tests::drawn_hosts(3, 2);
  e.topology.hosts[2].devices.pop_back();
  e.topology.hosts[2].devices[0].role = topology::Role::parameter_server;
  e.strategy.algorithm = collective::Algorithm::sharded_hierarchical;
  EXPECT_EQ(first_problem(e), base::Problem{});
  e.training.clip_norm = 1;
  EXPECT_EQ(first_problem(e).where, "strategy.algorithm");
  EXPECT_EQ(first_problem(e).id, "hosts_not_even")
      << "the gradient norm is reduced over all layers";
}

// Parameters on servers are not reduced.
TEST(Rpc, auto_considers_parameters_replicated_on_trainers) {
  const auto work_of = [](Experiment e) {
    e.strategy.algorithm = collective::Algorithm::automatic;
    const Resolved r = strategy::resolved(e);
    EXPECT_EQ(r.algorithm_reason.empty(), largest_reduction(r).devices.empty());
    return largest_reduction(r);
  };
  const Experiment tables = called(strategy::small_wide_and_deep(1), 3, 1, kTables);
  const Resolved r = strategy::resolved(tables);
  std::int64_t most = 0;
  for (const Bucket& bucket : buckets(of_rank(r, 0))) most = std::max(most, bucket.count);
  EXPECT_LT(most, of_rank(r, 3).model.elements) << "a table on a server is larger";
  EXPECT_EQ(work_of(tables).elements, most);
  EXPECT_EQ(work_of(tables).devices, std::vector(r.ranks.begin(), r.ranks.begin() + 3));
  EXPECT_THAT(work_of(called(strategy::small_wide_and_deep(1), 1, 2, kTables)).devices,
              testing::IsEmpty())
      << "one trainer";
  EXPECT_THAT(work_of(called(strategy::small(1), 3, 1, kAll)).devices, testing::IsEmpty());
}

TEST(Rpc, reports_an_unused_schedule) {
  Experiment e = called(strategy::small(1), 2, 2);
  e.strategy.stages.schedule = PipelineSchedule::pipedream;
  EXPECT_EQ(first_problem(e).id, "pipedream_not_supported");
  e.strategy.stages.schedule = PipelineSchedule::gpipe;
  EXPECT_THAT(*stages_line(strategy::resolved(e)), HasSubstr("strategy.stages.schedule=gpipe"));
  e.strategy.stages.schedule = StageSpec{}.schedule;
  EXPECT_THAT(*stages_line(strategy::resolved(e)), Not(HasSubstr("schedule")));
}

// A reference saves a transfer between servers, which one server does not have.
TEST(Rpc, reports_an_unused_output_reference_with_one_server) {
  const auto outcome = [](int servers, RemoteOutput output) {
    return strategy::resolved(called(strategy::small(1), 2, servers, kAll, output));
  };
  const Resolved value = outcome(1, RemoteOutput::value),
                 reference = outcome(1, RemoteOutput::reference);
  const auto ranks = [](const Resolved& e) {
    std::vector<int> list;
    for (const model::Stage& stage : stage_graph_of(e).stages) list.push_back(stage.rank);
    return list;
  };
  EXPECT_EQ(ranks(value), ranks(reference));
  EXPECT_THAT(*stages_line(reference), HasSubstr("strategy.rpc.output=reference"));
  EXPECT_THAT(*stages_line(value), Not(HasSubstr("strategy.rpc.output")));
  EXPECT_THAT(*stages_line(outcome(2, RemoteOutput::reference)),
              Not(HasSubstr("strategy.rpc.output")));
}

TEST(RpcPlaces, by_hand_must_name_drawn_trainers_and_servers) {
  Experiment e = called(strategy::small_clicks(1), 2, 1, kTables);
  e.strategy.stages.partition = Partition::by_hand;
  const auto problem = [&](std::vector<StagePlace> places) {
    e.strategy.stages.places = std::move(places);
    return first_problem(e);
  };
  EXPECT_EQ(problem({{"0", 1}, {"1", 0}}), base::Problem{});
  EXPECT_EQ(problem({{"0", 2}, {"1", 0}}).id, "unknown_stage");
  EXPECT_EQ(problem({{"0", 1}}).id, "layer_not_remote");
  EXPECT_EQ(problem({{"0", 0}}).id, "layer_not_local");
  e.strategy.rpc.remote = kAll;
  EXPECT_EQ(problem({{"0", 1}, {"3", 0}}).id, "layer_not_local");
  e.topology = strategy::drawn_callers(1, 2);
  EXPECT_EQ(problem({{"0", 1}}).id, "stage_without_layer");
  EXPECT_EQ(problem({{"0", 1}, {"1", 2}}), base::Problem{});
}

}  // namespace
}  // namespace trainyard::experiment
