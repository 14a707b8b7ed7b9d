// SPDX-License-Identifier: GPL-3.0-or-later
// Number formats, offloading and recomputation are passes over a plan that do not depend on meshes
// and schedules. This tests all of them together.
#include <gtest/gtest.h>

#include "core/check/check.h"
#include "core/experiment/mesh.h"
#include "core/experiment/sent_bytes.h"
#include "tests/conformance/mesh_training.h"
#include "tests/conformance/offloaded_training.h"
#include "tests/core/strategy/rpc_experiments.h"

namespace trainyard::tests {
namespace {

using experiment::Experiment;
using experiment::OffloadTarget;
using experiment::PipelineSchedule;
using experiment::Precision;
using experiment::Shard;
using experiment::StrategyKind;

// 24 samples a step; an epoch of 250 ends with 10.
Experiment combined_mesh(int ranks, experiment::MeshSpec mesh,
                         PipelineSchedule schedule = PipelineSchedule::one_forward_one_backward) {
  Experiment e = strategy::small_gpt(ranks);
  e.model.layers[1].blocks = 2;
  e.strategy.kind = StrategyKind::hybrid;
  e.strategy.mesh = mesh;
  e.strategy.fsdp.shard = experiment::Shard::optimizer;
  e.strategy.stages.schedule = schedule;
  e.training.accumulation_steps = 3;
  e.training.batch_per_rank = 24 / mesh.data / 3;
  e.training.steps = 22;
  e.training.optimizer = {
      .kind = experiment::OptimizerKind::adam, .learning_rate = 0.01, .epsilon = 1e-4};
  return e;
}

// A table and a tied layer on a server, all else on two trainers; or all of it on two servers.
Experiment remote(experiment::RemoteLayers layers, int servers) {
  Experiment e = strategy::called(strategy::small_tied_gpt(1), 2, servers, layers,
                                  experiment::RemoteOutput::reference);
  e.training.accumulation_steps = 3;
  e.training.batch_per_rank = 4;
  e.training.steps = 22;
  e.training.optimizer = {
      .kind = experiment::OptimizerKind::adam, .learning_rate = 0.01, .epsilon = 1e-4};
  return e;
}

Experiment pipedream() {
  Experiment e = recomputed::in_stages(strategy::small_gpt(3), PipelineSchedule::pipedream, 6);
  e.training.steps = 22;
  e.training.optimizer = {
      .kind = experiment::OptimizerKind::adam, .learning_rate = 0.005, .epsilon = 1e-4};
  return e;
}

Experiment in_bf16(Experiment e) {
  e.training.precision = Precision::bf16;
  return e;
}
Experiment all_at_once(const Experiment& e) {
  Experiment all = offloaded::with_offload(in_bf16(e), OffloadTarget::host, OffloadTarget::disk);
  all.training.recompute_segments = 3;
  return all;
}

class Combined : public testing::TestWithParam<MeshCase> {};

TEST_P(Combined, is_valid_and_proved) {
  const Experiment e = all_at_once(GetParam().experiment);
  const auto invalid = experiment::validate(e, ".");
  ASSERT_EQ(invalid.empty() ? "" : base::to_string(invalid.front()), "");
  const experiment::Resolved resolved = experiment::resolve(e, ".").value();
  for (const auto& plan : {strategy::coarse_plan(resolved), strategy::make_plan(resolved)}) {
    ASSERT_TRUE(plan);
    const auto problems = check::check(*plan);
    EXPECT_EQ(problems.empty() ? "" : base::to_string(problems.front()), "");
  }
}

TEST_P(Combined, is_unchanged_by_offloading_and_recomputation_bit_for_bit) {
  const auto with = trained(all_at_once(GetParam().experiment)),
             without = trained(in_bf16(GetParam().experiment));
  for (std::size_t r = 0; r < with.size(); ++r) {
    ASSERT_EQ(with[r].problem, base::Problem{});
    ASSERT_EQ(without[r].problem, base::Problem{});
    EXPECT_EQ(with[r].parameters, without[r].parameters) << "rank " << r;
  }
}

TEST_P(Combined, trains_in_bf16_like_in_fp32) {
  const Experiment& e = GetParam().experiment;
  const auto half = trained(in_bf16(e)), whole = trained(e);
  const auto last = static_cast<std::int32_t>(e.training.steps - 1);
  const double loss = sum_of(whole, telemetry::Metric::held_out_loss_sum, last);
  EXPECT_GT(loss, 0);
  EXPECT_NEAR(sum_of(half, telemetry::Metric::held_out_loss_sum, last), loss, 0.02 * loss);
  for (std::size_t r = 0; r < half.size(); ++r)
    EXPECT_TRUE(whole[r].parameters.empty() || half[r].parameters != whole[r].parameters)
        << "not rounded";
}

TEST_P(Combined, sends_the_bytes_of_the_formula) {
  const Experiment e = all_at_once(GetParam().experiment);
  const auto wanted = experiment::sent_bytes(experiment::resolve(e, ".").value());
  ASSERT_TRUE(wanted);
  const auto ranks = trained(e);
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    std::int64_t sent = 0;
    for (const comm::Traffic& to : ranks[r].traffic)
      sent += static_cast<std::int64_t>(to.sent_payload_bytes);
    EXPECT_EQ(sent, (*wanted)[r]) << "rank " << r;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Plans, Combined,
    testing::Values(
        MeshCase{"replicas_of_stages", combined_mesh(4, {.data = 2, .pipeline = 2, .tensor = 1})},
        MeshCase{"replicas_of_parts", combined_mesh(4, {.data = 2, .pipeline = 1, .tensor = 2})},
        MeshCase{"stages_of_parts_gpipe", combined_mesh(4, {.data = 1, .pipeline = 2, .tensor = 2},
                                                        PipelineSchedule::gpipe)},
        MeshCase{"all_three_zb", combined_mesh(8, {.data = 2, .pipeline = 2, .tensor = 2},
                                               PipelineSchedule::zb_h1)},
        MeshCase{"moments_in_parts",
                 combined_mesh(4, {.data = 2, .pipeline = 2, .tensor = 1, .shards_data = true})},
        MeshCase{
            "gradients_in_parts",
            sharded(combined_mesh(8, {.data = 2, .pipeline = 2, .tensor = 2}), Shard::gradients)},
        MeshCase{"all_in_parts",
                 sharded(combined_mesh(4, {.data = 2, .pipeline = 2, .tensor = 1}), Shard::full)},
        MeshCase{"all_in_parts_of_layers",
                 sharded(combined_mesh(4, {.data = 2, .pipeline = 1, .tensor = 2}), Shard::full)},
        MeshCase{"remote_table", remote(experiment::RemoteLayers::embeddings, 1)},
        MeshCase{"remote_layers", remote(experiment::RemoteLayers::all, 2)},
        MeshCase{"pipedream", pipedream()}),
    name_of);

}  // namespace
}  // namespace trainyard::tests
