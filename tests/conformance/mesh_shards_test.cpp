// SPDX-License-Identifier: GPL-3.0-or-later
// Real training by replicas of a mesh that share out what each place has of the model (ZeRO-1 to
// 3): together they equal one device, they send each other what the formula says, and keep what it
// says.
#include <gtest/gtest.h>

#include "core/run/bind/memory_use.h"
#include "core/session/advice/memory_problems.h"
#include "tests/conformance/mesh_training.h"

namespace trainyard::tests {
namespace {

using collective::Algorithm;
using experiment::Experiment;
using experiment::Mesh;
using experiment::Shard;
using O = experiment::OptimizerKind;
using S = experiment::PipelineSchedule;

constexpr Shard kFull = Shard::full, kGradients = Shard::gradients, kOptimizer = Shard::optimizer;

Experiment kept_gathered(Experiment e, std::int64_t prefetch) {
  e.strategy.fsdp.reshard_after_forward = false;
  e.strategy.fsdp.prefetch = prefetch;
  return e;
}
Experiment ahead(Experiment e, std::int64_t prefetch) {
  e.strategy.fsdp.prefetch = prefetch;
  return e;
}

// Within every host, and across hosts with those that have the same part.
Experiment by_host(Experiment e, int hosts) {
  const auto ranks = static_cast<int>(e.topology.hosts[0].devices.size());
  e = on_hosts(e, hosts, ranks / hosts);
  e.strategy.fsdp.group = experiment::ShardGroup::host;
  return e;
}

class ShardedMesh : public testing::TestWithParam<MeshCase> {};

TEST_P(ShardedMesh, over_hundred_fp64_steps_equals_one_device) {
  const Experiment& e = GetParam().experiment;
  expect_valid(e);
  expect_as_one_device(e, trained(e), trained(on_one(e))[0]);
}

TEST_P(ShardedMesh, has_the_fp32_gradients_of_one_device) {
  Experiment e = one_step(GetParam().experiment);
  e.training.precision = experiment::Precision::fp32;
  EXPECT_LE(
      distance(assemble(e, trained(e), &RankOutcome::gradients), trained(on_one(e))[0].gradients),
      1e-5);
}

TEST_P(ShardedMesh, sends_the_bytes_of_its_formula_and_is_proved) {
  expect_sent_bytes(GetParam().experiment);
  expect_proved(GetParam().experiment);
}

Experiment rows(int ranks) { return strategy::small_rows(ranks); }

INSTANTIATE_TEST_SUITE_P(
    MeshesOnHosts, ShardedMesh,
    testing::Values(
        MeshCase{
            "moments_rows_4x1x1_clipped",
            by_host(sharded(with(meshed(rows(4), {4, 1, 1}, 2), O::adam, 0.3), kOptimizer), 2)},
        MeshCase{"moments_gpt_4x1x2_clipped",
                 by_host(sharded(with(meshed(gpt(8, 2, false), {4, 1, 2}, 2), O::adamw, 0.3),
                                 kOptimizer),
                         2)},
        MeshCase{
            "gradients_rows_4x2x1_zb",
            by_host(sharded(with(meshed(rows(8), {4, 2, 1}, 3, S::zb_h1), O::adam), kGradients),
                    4)},
        MeshCase{"gradients_tied_4x1x2_direct",
                 by_host(sharded(with(meshed(gpt(8, 4, true), {4, 1, 2}, 3), O::adam, 0,
                                      Algorithm::direct),
                                 kGradients),
                         2)},
        MeshCase{"full_uneven_6x1x1",
                 by_host(sharded(with(meshed(small(6, 24), {6, 1, 1}, 2), O::adamw), kFull), 3)},
        MeshCase{"full_rows_4x2x1_clipped",
                 by_host(sharded(with(meshed(rows(8), {4, 2, 1}, 3), O::adam, 0.3), kFull), 4)},
        MeshCase{
            "full_uneven_4x1x2",
            by_host(sharded(with(meshed(small(8, 24), {4, 1, 2}, 2), O::adam, 0.3), kFull), 2)},
        MeshCase{
            "full_rows_2x2x1_stage_by_stage",
            by_host(sharded(with(meshed(rows(4), {2, 2, 1}, 3, S::gpipe), O::adam), kFull), 2)},
        MeshCase{
            "kept_gpt_4x2x1",
            by_host(kept_gathered(
                        sharded(with(meshed(gpt(8, 2, false), {4, 2, 1}, 3), O::adam), kFull), 1),
                    4)}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Meshes, ShardedMesh,
    testing::Values(
        MeshCase{
            "moments_rows_2x2x2_clipped",
            sharded(with(meshed(on_hosts(rows(8), 2, 4), {2, 2, 2}, 3), O::adam, 0.3), kOptimizer)},
        MeshCase{"moments_uneven_4x1x2_direct",
                 sharded(with(meshed(small(8, 24), {4, 1, 2}, 2), O::adamw, 0, Algorithm::direct),
                         kOptimizer)},
        MeshCase{"moments_rows_3x2x1_gpipe",
                 sharded(with(meshed(rows(6), {3, 2, 1}, 4, S::gpipe), O::adam), kOptimizer)},
        MeshCase{
            "moments_gpt_2x2x2_interleaved",
            sharded(with(meshed(gpt(8, 2, false), {2, 2, 2}, 4, S::interleaved_1f1b), O::adam, 0.3),
                    kOptimizer)},
        MeshCase{"moments_rows_4x1x1_clipped",
                 sharded(with(meshed(rows(4), {4, 1, 1}, 2), O::adam, 0.3), kOptimizer)},
        MeshCase{"gradients_rows_3x1x1",
                 sharded(with(meshed(rows(3), {3, 1, 1}, 2), O::adam), kGradients)},
        MeshCase{"gradients_uneven_2x1x2_clipped",
                 sharded(with(meshed(small(4, 24), {2, 1, 2}, 3), O::adamw, 0.3), kGradients)},
        MeshCase{"gradients_rows_2x2x1_zb",
                 sharded(with(meshed(rows(4), {2, 2, 1}, 4, S::zb_h1), O::adam), kGradients)},
        MeshCase{"gradients_tied_2x2x2_gpipe",
                 sharded(with(meshed(gpt(8, 4, true), {2, 2, 2}, 2, S::gpipe), O::adam, 0.3),
                         kGradients)},
        MeshCase{"full_uneven_2x1x1", sharded(meshed(small(2, 24), {2, 1, 1}, 2), kFull)},
        MeshCase{"full_uneven_3x1x1_direct", ahead(sharded(with(meshed(small(3, 24), {3, 1, 1}, 2),
                                                                O::adam, 0, Algorithm::direct),
                                                           kFull),
                                                   0)},
        MeshCase{"full_gpt_2x1x2",
                 sharded(with(meshed(gpt(4, 4, false), {2, 1, 2}, 3), O::adamw, 0.3), kFull)},
        MeshCase{"full_rows_2x2x1_zb_clipped",
                 sharded(with(meshed(rows(4), {2, 2, 1}, 4, S::zb_h1), O::adam, 0.3), kFull)},
        MeshCase{"full_rows_3x2x1_gpipe",
                 ahead(sharded(with(meshed(rows(6), {3, 2, 1}, 4, S::gpipe), O::adam), kFull), 3)},
        MeshCase{"full_uneven_4x1x2",
                 sharded(with(meshed(small(8, 24), {4, 1, 2}, 2), O::adamw), kFull)},
        MeshCase{"full_rows_2x2x2_clipped",
                 sharded(with(meshed(on_hosts(rows(8), 2, 4), {2, 2, 2}, 3), O::adam, 0.3), kFull)},
        MeshCase{"full_gpt_2x2x2_interleaved",
                 sharded(with(meshed(gpt(8, 2, false), {2, 2, 2}, 4, S::interleaved_1f1b), O::adam),
                         kFull)},
        MeshCase{
            "full_tied_2x2x1_gpipe",
            sharded(with(meshed(gpt(4, 4, true), {2, 2, 1}, 2, S::gpipe), O::adam, 0.3), kFull)},
        MeshCase{"full_images_2x2x1",
                 sharded(meshed(images(strategy::small_images(4), 1), {2, 2, 1}, 2), kFull)},
        MeshCase{
            "kept_rows_2x2x1_naive",
            kept_gathered(sharded(with(meshed(rows(4), {2, 2, 1}, 2, S::naive), O::adam), kFull),
                          2)},
        MeshCase{"kept_gpt_2x2x1",
                 kept_gathered(sharded(with(meshed(gpt(4, 2, false), {2, 2, 1}, 4), O::adam, 0.3),
                                       kFull),
                               1)}),
    name_of);

// With 241 samples and 24 per step, only replica 0 has the last one; with 245, one replica has an
// additional micro-batch. All take part in every gather and every sum.
TEST(ShardedMeshTail, of_replicas_with_fewer_micro_batches_equals_one_device) {
  for (const Shard shard : {kGradients, kFull})
    for (const std::int64_t samples : {241, 245})
      for (const auto& [mesh, schedule] :
           {std::pair{Mesh{2, 2, 2}, S::one_forward_one_backward}, {Mesh{4, 2, 1}, S::zb_h1}}) {
        Experiment e = sharded(meshed(rows(8), mesh, 3, schedule), shard);
        e.data.train_samples = samples;
        expect_as_one_device(e, trained(e), trained(on_one(e))[0]);
        expect_sent_bytes(e);
        expect_proved(e);
      }
}

// A normalization learns in the cell that hands its gradient on, where the gradients of weights
// have cells of their own: what a unit has of both is summed once it is there.
TEST(ShardedMeshNormalization, trains_like_without_shards) {
  for (const S schedule : {S::gpipe, S::zb_h1}) {
    const Experiment e =
        meshed(images(strategy::small_normalized_images(4), 1), {2, 2, 1}, 3, schedule);
    const auto whole = assemble(e, trained(e), &RankOutcome::parameters);
    for (const Shard shard : {kOptimizer, kGradients, kFull}) {
      EXPECT_LE(distance(assemble(sharded(e, shard), trained(sharded(e, shard)),
                                  &RankOutcome::parameters),
                         whole),
                1e-10);
      expect_sent_bytes(sharded(e, shard));
      expect_proved(sharded(e, shard));
    }
  }
}

Experiment as_fsdp(Experiment e) {
  e.strategy.kind = experiment::StrategyKind::fsdp;
  e.strategy.mesh = {};
  return e;
}

// A mesh of replicas alone.
TEST(ShardedMeshOfReplicas, equals_fsdp_in_bits_and_bytes) {
  for (const Shard shard : {kOptimizer, kGradients, kFull})
    for (const Experiment& one : {small(2, 24), gpt(2, 2, true)}) {
      Experiment e = sharded(with(meshed(one, {2, 1, 1}, 2), O::adam), shard);
      e.training.steps = 30;
      const auto mesh = trained(e), fsdp = trained(as_fsdp(e));
      for (std::size_t r = 0; r < mesh.size(); ++r) {
        ASSERT_EQ(mesh[r].problem, base::Problem{});
        ASSERT_EQ(fsdp[r].problem, base::Problem{});
        EXPECT_EQ(mesh[r].parameters, fsdp[r].parameters);
      }
      EXPECT_EQ(experiment::sent_bytes(experiment::resolve(e, ".").value()),
                experiment::sent_bytes(experiment::resolve(as_fsdp(e), ".").value()));
    }
}

// Twelve layers of 65 x 64 elements, each a unit, in three stages: of four layers each, of two
// replicas.
TEST(ShardedMeshMemory, is_a_shard_of_persistent_memory_plus_a_few_units) {
  constexpr std::int64_t kUnit = 65 * 64, kStage = 4 * kUnit;
  Experiment e = strategy::small(6);
  e.data.features = e.data.classes = 64;
  e.model.layers.clear();
  for (int layer = 0; layer < 11; ++layer) e.model.layers.push_back({model::LayerKind::linear, 64});
  e.model.layers.push_back({model::LayerKind::linear, 0});
  e.strategy.bucket_bytes = 1;
  e = with(meshed(e, {2, 3, 1}, 4), O::adam);
  const auto elements = [](const Experiment& of, std::initializer_list<const char*> buffers) {
    std::int64_t sum = 0;
    const plan::RankPlan rank =
        strategy::coarse_plan(experiment::resolve(of, ".").value()).value().rank_plan(2);
    for (const char* name : buffers)
      if (const plan::BufferId id = rank.buffer(name); id.valid())
        sum += rank.buffers[id.index()].elements;
    return sum;
  };
  EXPECT_EQ(elements(e, {"params", "grads", "moment1", "moment2"}), 4 * kStage);
  EXPECT_EQ(elements(sharded(e, kOptimizer), {"moment1", "moment2"}), 2 * kStage / 2);
  EXPECT_EQ(elements(sharded(e, kOptimizer), {"params", "grads"}), 2 * kStage);
  EXPECT_EQ(elements(sharded(e, kGradients), {"grad_shard", "moment1", "moment2"}), 3 * kStage / 2);
  EXPECT_EQ(elements(sharded(e, kGradients), {"params", "grads"}), kStage + 2 * kUnit);
  for (const std::int64_t prefetch : {0, 1, 2}) {
    EXPECT_EQ(
        elements(ahead(sharded(e, kFull), prefetch), {"shard", "grad_shard", "moment1", "moment2"}),
        4 * kStage / 2);
    EXPECT_EQ(elements(ahead(sharded(e, kFull), prefetch), {"params"}), (prefetch + 1) * kUnit);
  }
  EXPECT_EQ(elements(kept_gathered(sharded(e, kFull), 1), {"params"}), kStage);
}

// Applies the advised settings.
TEST(ShardedMeshMemory, is_advised_if_a_plan_does_not_fit) {
  Experiment e = strategy::small(4);
  e.model.layers = {{model::LayerKind::linear, 300},
                    {model::LayerKind::tanh, 0},
                    {model::LayerKind::linear, 300},
                    {model::LayerKind::linear, 0}};
  e = with(meshed(e, {2, 2, 1}, 2), O::adam);
  const auto most = [](const Experiment& of) {
    std::int64_t bytes = 0;
    const plan::Plan plan = strategy::make_plan(experiment::resolve(of, ".").value()).value();
    for (std::int32_t r = 0; r < plan.ranks; ++r)
      bytes = std::max(bytes,
                       run::memory_use(plan.rank_plan(r), run::layout(plan.rank_plan(r))).total());
    return bytes;
  };
  for (topology::Device& device : e.topology.hosts[0].devices)
    device.memory_bytes = most(sharded(e, kGradients));
  const auto problems = [](const Experiment& of) {
    const experiment::Resolved resolved = experiment::resolve(of, ".").value();
    return session::find_memory_problems(resolved, strategy::make_plan(resolved).value());
  };
  const base::Problems refused = problems(e);
  ASSERT_FALSE(refused.empty());
  EXPECT_THAT(
      refused.front().advice,
      testing::ContainsRegex("strategy.mesh.shards_data=true [^;(]*strategy.fsdp.shard=gradients"));
  EXPECT_TRUE(problems(sharded(e, kGradients)).empty());
}

// Per micro-batch, a stage gathers its parameters forward and backward and scatters its gradient: 3
// (d - 1) / d S each. If it keeps the gathered parameters, it gathers forward once per step.
TEST(ShardedMeshBytes, of_full_sharding_are_those_of_every_cell) {
  Experiment e = with(meshed(rows(2), {2, 1, 1}, 3), O::adam);
  e.data.held_out_samples = 0;
  e.training.steps = 1;
  const auto total = [](const Experiment& of) {
    const auto sent = experiment::sent_bytes(experiment::resolve(of, ".").value()).value();
    return std::accumulate(sent.begin(), sent.end(), std::int64_t{0});
  };
  const experiment::Resolved resolved = experiment::resolve(e, ".").value();
  const std::int64_t s = 8 * resolved.model.elements,
                     metric_bytes = 2 * 3 * std::ssize(resolved.model.segments) * 8;
  EXPECT_EQ(total(sharded(e, kOptimizer)), 2 * s + metric_bytes);
  EXPECT_EQ(total(sharded(e, kGradients)), (1 + 3) * s + metric_bytes);
  EXPECT_EQ(total(sharded(e, kFull)), 3 * 3 * s + metric_bytes);
  EXPECT_EQ(total(kept_gathered(sharded(e, kFull), 1)), (1 + 3) * s + metric_bytes);
}

// Each pair of replicas on a host shares a model out, 2 (2 - 1) s for the moments, and sums its
// parts with the other pair's: s more, of both parts.
TEST(ShardedMeshBytes, of_hosts_are_those_within_hosts_and_of_shards_across) {
  Experiment e = with(meshed(rows(4), {4, 1, 1}, 1), O::adam);
  e.data.held_out_samples = 0;
  e.training.steps = 1;
  e = by_host(sharded(e, kOptimizer), 2);
  const experiment::Resolved resolved = experiment::resolve(e, ".").value();
  const auto sent = experiment::sent_bytes(resolved).value();
  const std::int64_t s = 8 * resolved.model.elements,
                     metric_bytes = 2 * 2 * 3 * std::ssize(resolved.model.segments) * 8;
  EXPECT_EQ(std::accumulate(sent.begin(), sent.end(), std::int64_t{0}),
            2 * 2 * s + 2 * s + metric_bytes);
  EXPECT_EQ(experiment::shard_groups(resolved), (std::vector<std::vector<int>>{{0, 1}, {2, 3}}));
  EXPECT_EQ(experiment::same_shard_groups(resolved),
            (std::vector<std::vector<int>>{{0, 2}, {1, 3}}));
}

TEST(ShardedMeshOnHosts, equals_hybrid_fsdp_in_bits_and_bytes) {
  for (const Shard shard : {kOptimizer, kGradients, kFull}) {
    Experiment e = by_host(sharded(with(meshed(small(4, 24), {4, 1, 1}, 2), O::adam), shard), 2);
    e.training.steps = 30;
    const auto mesh = trained(e), fsdp = trained(as_fsdp(e));
    for (std::size_t r = 0; r < mesh.size(); ++r) {
      ASSERT_EQ(mesh[r].problem, base::Problem{});
      ASSERT_EQ(fsdp[r].problem, base::Problem{});
      EXPECT_EQ(mesh[r].parameters, fsdp[r].parameters);
    }
    EXPECT_EQ(experiment::sent_bytes(experiment::resolve(e, ".").value()),
              experiment::sent_bytes(experiment::resolve(as_fsdp(e), ".").value()));
  }
}

// Recomputation within a stage finds its unit gathered.
TEST(ShardedMeshRecomputation, changes_neither_bits_nor_bytes) {
  for (const Shard shard : {kGradients, kFull}) {
    Experiment e = sharded(with(meshed(gpt(8, 2, false), {2, 2, 2}, 4, S::gpipe), O::adam), shard);
    e.training.steps = 22;
    const auto kept = assemble(e, trained(e), &RankOutcome::parameters);
    const auto bytes = experiment::sent_bytes(experiment::resolve(e, ".").value());
    e.training.recompute_segments = 4;
    expect_proved(e);
    EXPECT_EQ(assemble(e, trained(e), &RankOutcome::parameters), kept);
    EXPECT_EQ(experiment::sent_bytes(experiment::resolve(e, ".").value()), bytes);
    expect_sent_bytes(e);
  }
}

}  // namespace
}  // namespace trainyard::tests
