// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/mesh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "core/experiment/fsdp.h"
#include "core/experiment/sent_bytes.h"
#include "core/experiment/stages.h"
#include "core/experiment/tensor.h"
#include "core/experiment/unused_settings.h"
#include "tests/core/experiment/problems.h"
#include "tests/core/strategy/experiments.h"

namespace trainyard::experiment {
namespace {

using base::IsProblem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Optional;

Experiment meshed(int data, int pipeline, int tensor, int hosts = 1) {
  const int ranks = std::max(data, 1) * pipeline * tensor;
  Experiment e = strategy::small_rows(ranks);
  e.topology = tests::drawn_hosts(hosts, ranks / hosts);
  e.strategy.kind = StrategyKind::hybrid;
  e.strategy.mesh = {.data = data, .pipeline = pipeline, .tensor = tensor, .shards_data = false};
  return e;
}

Experiment on(Experiment e, const topology::Topology& topology) {
  e.topology = topology;
  return e;
}

TEST(Mesh, orders_ranks_by_tensor_part_then_replica_then_stage) {
  const Mesh mesh{2, 3, 4};
  for (int rank = 0; rank < mesh.ranks(); ++rank)
    EXPECT_EQ(mesh.rank_of(mesh.place_of(rank)), rank);
  EXPECT_EQ(mesh.place_of(0), (MeshCoordinates{0, 0, 0}));
  EXPECT_EQ(mesh.place_of(5), (MeshCoordinates{1, 0, 1}));
  EXPECT_EQ(mesh.place_of(23), (MeshCoordinates{1, 2, 3}));
  EXPECT_THAT(mesh.tensor_group(6), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(mesh.replicas_of(13), ElementsAre(9, 13));
  EXPECT_THAT(mesh.stage(1), ElementsAre(8, 9, 10, 11, 12, 13, 14, 15));
}

TEST(Mesh, contains_each_worker_once_in_every_strategy) {
  const auto of = [](StrategyKind kind) {
    Experiment e;
    e.topology = tests::drawn_hosts(1, 6);
    e.strategy.kind = kind;
    e.strategy.mesh = {.data = 0, .pipeline = 3, .tensor = 1, .shards_data = false};
    return mesh_of(e);
  };
  EXPECT_EQ(of(StrategyKind::ddp), (Mesh{6, 1, 1}));
  EXPECT_EQ(of(StrategyKind::pipeline), (Mesh{1, 6, 1}));
  EXPECT_EQ(of(StrategyKind::tensor_parallel), (Mesh{1, 1, 6}));
  EXPECT_EQ(of(StrategyKind::hybrid), (Mesh{2, 3, 1}));
}

TEST(Mesh, number_of_replicas_defaults_to_all_devices) {
  Experiment e = meshed(2, 2, 2);
  e.strategy.mesh.data = 0;
  const Resolved resolved = strategy::resolved(e);
  EXPECT_EQ(mesh_of(resolved), (Mesh{2, 2, 2}));
  EXPECT_EQ(resolved.global_batch, 16);
  EXPECT_THAT(mesh_line(resolved), Optional(AllOf(HasSubstr("2 x 2 x 2"), HasSubstr("2 replicas"),
                                                  HasSubstr("2 stages"), HasSubstr("2 devices"))));
}

TEST(Mesh, refuses_a_size_that_does_not_cover_the_workers) {
  Experiment more = on(meshed(2, 2, 2), tests::drawn_hosts(1, 6));
  EXPECT_EQ(first_problem(more).where, "strategy.mesh");
  EXPECT_EQ(first_problem(more).id, "mesh_not_covered");
  more.strategy.mesh.data = 0;
  EXPECT_EQ(first_problem(more).id, "mesh_not_covered");
  EXPECT_THAT(first_problem(more).accepted, HasSubstr("of 4"));
  const Experiment fewer = on(meshed(1, 2, 2), tests::drawn_hosts(1, 8));
  EXPECT_THAT(first_problem(fewer), AllOf(IsProblem("mesh_not_covered", "strategy.mesh"),
                                          Mentions("strategy.mesh.data to 2")));
}

TEST(Mesh, refuses_sizes_out_of_range) {
  Experiment none = meshed(1, 2, 2), huge = meshed(1, 2, 2);
  none.strategy.mesh.pipeline = 0;
  EXPECT_EQ(first_problem(none).where, "strategy.mesh.pipeline");
  huge.strategy.mesh.pipeline = huge.strategy.mesh.tensor = 100'000;
  EXPECT_EQ(first_problem(huge).where, "strategy.mesh");
}

TEST(Mesh, refuses_a_tensor_group_on_two_hosts) {
  topology::Topology uneven = tests::drawn_hosts(2, 3);
  const base::Problem problem = first_problem(on(meshed(3, 1, 2), uneven));
  EXPECT_EQ(problem.where, "strategy.mesh.tensor");
  EXPECT_EQ(problem.id, "tensor_group_on_several_hosts");
  EXPECT_EQ(first_problem(on(meshed(2, 1, 2), tests::drawn_hosts(2, 2))), base::Problem{});
}

TEST(Mesh, refuses_unsupported_settings) {
  Experiment sharded = meshed(2, 2, 1);
  sharded.strategy.mesh.shards_data = true;
  for (const Shard shard : {Shard::optimizer, Shard::gradients, Shard::full}) {
    sharded.strategy.fsdp.shard = shard;
    EXPECT_EQ(first_problem(sharded), base::Problem{});
  }
  sharded.strategy.fsdp.group = ShardGroup::host;
  EXPECT_EQ(first_problem(sharded), base::Problem{}) << "all replicas are on one host";
  Experiment alone = on(sharded, tests::drawn_hosts(4, 1));
  EXPECT_EQ(first_problem(alone).where, "strategy.fsdp.group");
  EXPECT_EQ(first_problem(alone).id, "fsdp_group_not_even");
  Experiment uneven = on(meshed(3, 1, 1), tests::drawn_hosts(2, 2));
  uneven.topology.hosts[1].devices.pop_back();
  uneven.strategy.mesh.shards_data = true;
  uneven.strategy.fsdp.group = ShardGroup::host;
  EXPECT_EQ(first_problem(uneven).id, "fsdp_group_not_even");
  sharded.strategy.algorithm = collective::Algorithm::binary_tree;
  EXPECT_EQ(first_problem(sharded).where, "strategy.algorithm");
  Experiment deep = meshed(1, 9, 1);
  EXPECT_EQ(first_problem(deep).where, "strategy.mesh.pipeline");
  EXPECT_EQ(first_problem(deep).id, "too_few_layers");
  Experiment compressed = meshed(2, 2, 1);
  compressed.strategy.compression.kind = compute::compression::Scheme::fp16;
  EXPECT_EQ(first_problem(compressed).id, "strategy_without_compression");
  Experiment synchronized = strategy::synchronized(strategy::small_normalized_images(4));
  synchronized.strategy.kind = StrategyKind::hybrid;
  synchronized.strategy.mesh = {.data = 2, .pipeline = 2, .tensor = 1, .shards_data = false};
  EXPECT_THAT(first_problem(synchronized).where, HasSubstr("synchronized"));
}

TEST(Mesh, refuses_attention_heads_that_cannot_be_divided_among_the_devices_of_a_stage) {
  Experiment hybrid = strategy::small_gpt(6), split = strategy::small_gpt(3);
  hybrid.strategy.kind = StrategyKind::hybrid;
  hybrid.strategy.mesh = {.data = 1, .pipeline = 2, .tensor = 3, .shards_data = false};
  split.strategy.kind = StrategyKind::tensor_parallel;
  for (Experiment* e : {&hybrid, &split}) {
    e->model.layers[1].heads = 2;
    EXPECT_EQ(first_problem(*e).where, "model.layers[1].heads");
    EXPECT_EQ(first_problem(*e).id, "cannot_split_layers");
  }
}

TEST(Mesh, tensor_parallel_refuses_unsupported_settings) {
  const auto problem = [](auto change) {
    Experiment e = strategy::small_gpt(2);
    e.strategy.kind = StrategyKind::tensor_parallel;
    EXPECT_EQ(first_problem(e), base::Problem{});
    change(e);
    return first_problem(e).where;
  };
  EXPECT_EQ(problem([](Experiment& e) { e.strategy.engine = Engine::gloo; }), "strategy.engine");
  EXPECT_EQ(problem([](Experiment& e) { e.data.sharding.kind = data::ShardingKind::contiguous; }),
            "data.sharding.kind");
  EXPECT_EQ(problem([](Experiment& e) {
              e.strategy.compression.kind = compute::compression::Scheme::fp16;
            }),
            "strategy.compression.kind");
}

// First all ranks are on even hosts and the reducing ranks are not; then the reverse.
TEST(Mesh, refuses_an_algorithm_that_does_not_fit_one_of_its_groups) {
  Experiment e = meshed(6, 2, 1, 3);
  e.strategy.algorithm = collective::Algorithm::sharded_hierarchical;
  EXPECT_EQ(first_problem(e).where, "strategy.algorithm");
  EXPECT_EQ(first_problem(e).id, "hosts_not_even");
  e = meshed(4, 2, 1, 4);
  e.strategy.algorithm = collective::Algorithm::sharded_hierarchical;
  EXPECT_EQ(first_problem(e), base::Problem{});
  std::swap(e.topology.hosts[2].devices[1], e.topology.hosts[3].devices[0]);
  e.topology.hosts[2].devices.push_back(e.topology.hosts[3].devices[1]),
      e.topology.hosts[3].devices.pop_back();
  EXPECT_EQ(first_problem(e).id, "hosts_not_even");
  e = on(meshed(4, 2, 1), tests::drawn_hosts(3, 2));
  for (topology::Device& device : tests::drawn_host("", 2, 6).devices)
    e.topology.hosts[2].devices.push_back(device);
  e.strategy.algorithm = collective::Algorithm::sharded_hierarchical;
  EXPECT_EQ(first_problem(e), base::Problem{});
  e.training.clip_norm = 1;
  EXPECT_EQ(first_problem(e).id, "hosts_not_even") << "the gradient norm is reduced over all ranks";
}

TEST(Mesh, reports_unused_sharding_with_one_replica) {
  Experiment e = meshed(1, 2, 2);
  e.strategy.mesh.shards_data = true;
  EXPECT_THAT(*mesh_line(strategy::resolved(e)), HasSubstr("strategy.mesh.shards_data"));
  e = meshed(2, 2, 1);
  e.strategy.mesh.shards_data = true;
  EXPECT_THAT(*mesh_line(strategy::resolved(e)), Not(HasSubstr("strategy.mesh.shards_data")));
}

TEST(Mesh, reports_an_unused_shard_group_on_one_host) {
  Experiment e = meshed(2, 2, 1);
  e.strategy.mesh.shards_data = true;
  EXPECT_EQ(unused_shard_group(strategy::resolved(e)), std::nullopt) << "the group is not set";
  e.strategy.fsdp.group = ShardGroup::host;
  EXPECT_THAT(unused_shard_group(strategy::resolved(e)),
              Optional(HasSubstr("strategy.fsdp.group=host")));
  e = on(meshed(4, 1, 1), tests::drawn_hosts(2, 2));
  e.strategy.mesh.shards_data = true;
  e.strategy.fsdp.group = ShardGroup::host;
  EXPECT_EQ(unused_shard_group(strategy::resolved(e)), std::nullopt);
}

TEST(Mesh, divides_a_step_among_replicas) {
  const Resolved e = strategy::resolved(meshed(3, 2, 1));
  EXPECT_EQ(e.global_batch, 24);
  std::vector<std::int64_t> tail, held_out;
  for (int rank = 0; rank < e.world(); ++rank) {
    tail.push_back(e.shares().samples(e.full_steps_per_epoch, share_of(e, rank)));
    held_out.push_back(e.held_out(rank).second);
  }
  EXPECT_THAT(tail, ElementsAre(4, 3, 3, 4, 3, 3));  // of 250 = 10 x 24 + 10
  EXPECT_THAT(held_out, ElementsAre(18, 18, 17, 18, 18, 17));
}

TEST(Mesh, each_replica_has_every_element_once_except_replicated_parameters) {
  const Resolved e = strategy::resolved(meshed(2, 2, 2));
  EXPECT_EQ(identical_parameter_groups(e),
            (std::vector<std::vector<int>>{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
  Experiment sharded = meshed(2, 2, 2);
  sharded.strategy.mesh.shards_data = true;
  EXPECT_EQ(identical_parameter_groups(strategy::resolved(sharded)).size(), 8U)
      << "each rank has only its shard of all parameters";
  Experiment on_hosts = on(meshed(4, 1, 2), tests::drawn_hosts(2, 4));
  on_hosts.strategy.mesh.shards_data = true;
  on_hosts.strategy.fsdp.group = ShardGroup::host;
  EXPECT_EQ(identical_parameter_groups(strategy::resolved(on_hosts)),
            (std::vector<std::vector<int>>{{0, 4}, {2, 6}, {1, 5}, {3, 7}}))
      << "one rank of each host";
  for (int replica = 0; replica < 2; ++replica) {
    std::int64_t elements = 0;
    for (int stage = 0; stage < 2; ++stage)
      for (int part = 0; part < 2; ++part)
        for (const model::Parameter& p :
             of_rank(e, mesh_of(e).rank_of({replica, stage, part})).model.parameters)
          if (p.box.any() || part == 0) elements += p.shape.elements();
    EXPECT_EQ(elements, e.model.elements);
  }
}

// A rank has two of four stages, whose gradients are complete at different times.
TEST(Mesh, bucket_has_parameters_of_one_stage) {
  Experiment e = meshed(2, 2, 1);
  e.strategy.stages.schedule = PipelineSchedule::interleaved_1f1b;
  e.training.accumulation_steps = 2;
  e.strategy.bucket_bytes = 1'000'000;
  const Resolved resolved = strategy::resolved(e);
  const std::vector<int> owners = owners_of(resolved);
  for (int rank = 0; rank < resolved.world(); ++rank) {
    const Resolved local = of_rank(resolved, rank);
    std::int64_t elements = 0;
    for (const Bucket& bucket : buckets(local)) {
      elements += bucket.count;
      for (int s = bucket.first_segment; s <= bucket.last_segment; ++s)
        EXPECT_EQ(owners[static_cast<std::size_t>(s)], mesh_of(resolved).place_of(rank).stage);
    }
    EXPECT_EQ(elements, local.model.elements);
    EXPECT_EQ(units_by_stage(local, buckets(local)).size(), buckets(local).size());
  }
}

TEST(Mesh, has_the_bubble_of_one_pipeline) {
  Experiment e = meshed(2, 2, 2);
  e.training.batch_per_rank = 2;
  e.training.accumulation_steps = 4;
  const Resolved resolved = strategy::resolved(e);
  EXPECT_DOUBLE_EQ(ideal_bubble_fraction(resolved).value(), 1.0 / (4 + 1));
  EXPECT_THAT(stages_line(resolved).value(), HasSubstr("ranks 0 to 3"));
  EXPECT_THAT(tensor_split_text(resolved).value(), HasSubstr("stage"));
}

// A ring of replicas sends 2 (d - 1) S bytes of gradients in total, also with sharded moments.
TEST(MeshBytes, equal_those_of_an_all_reduce_with_and_without_sharded_moments) {
  Experiment e = meshed(4, 1, 1);
  e.data.held_out_samples = 0;
  e.training.steps = 1;
  const auto total = [](const Experiment& experiment) {
    const auto sent = sent_bytes(strategy::resolved(experiment)).value();
    return std::accumulate(sent.begin(), sent.end(), std::int64_t{0});
  };
  const Resolved resolved = strategy::resolved(e);
  const std::int64_t all = 2 * 3 * resolved.model.elements * 4;
  EXPECT_EQ(total(e), all);
  e.strategy.mesh.shards_data = true;
  e.strategy.fsdp.shard = Shard::optimizer;
  const std::int64_t statistics = 2 * 3 * 3 * std::ssize(resolved.model.segments) * 8;
  EXPECT_EQ(total(e), all + statistics);
}

}  // namespace
}  // namespace trainyard::experiment
