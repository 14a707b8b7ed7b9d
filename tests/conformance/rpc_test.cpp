// SPDX-License-Identifier: GPL-3.0-or-later
// Real training by trainers that call layers on parameter servers: together they equal one device,
// trainers are alike to the bit, and all send each other what the formula says, no more.
#include <gtest/gtest.h>

#include "core/experiment/buckets.h"
#include "tests/conformance/mesh_training.h"
#include "tests/core/strategy/rpc_experiments.h"

namespace trainyard::tests {
namespace {

using collective::Algorithm;
using experiment::Experiment;
using experiment::OptimizerKind;
using experiment::RemoteLayers;
using experiment::RemoteOutput;
using strategy::called;

struct Remote {
  int trainers = 1, servers = 1;
  RemoteLayers layers = RemoteLayers::all;
  RemoteOutput output = RemoteOutput::value;
  int micro_batches = 1;
};

// 24 samples per step in micro-batches of each trainer; an epoch of 250 samples ends with 10.
Experiment remote(const Experiment& of, const Remote& r, OptimizerKind kind = OptimizerKind::sgd,
                  double clip_norm = 0, Algorithm algorithm = Algorithm::ring) {
  Experiment e = called(of, r.trainers, r.servers, r.layers, r.output);
  e.strategy.algorithm = algorithm;
  e.training.batch_per_rank = 24 / r.trainers / r.micro_batches;
  e.training.accumulation_steps = r.micro_batches;
  e.training.steps = 100;
  e.training.precision = experiment::Precision::fp64;
  e.training.optimizer = {.kind = kind, .learning_rate = 0.02, .epsilon = 1e-4};
  e.training.clip_norm = clip_norm;
  return e;
}

class RpcTraining : public testing::TestWithParam<MeshCase> {};

TEST_P(RpcTraining, over_hundred_fp64_steps_equals_one_device) {
  const Experiment& e = GetParam().experiment;
  const auto problems = experiment::validate(e, ".");
  ASSERT_EQ(problems.empty() ? "" : base::to_string(problems.front()), "");
  expect_as_one_device(e, trained(e), trained(on_one(e))[0]);
}

TEST_P(RpcTraining, has_the_fp32_gradients_of_one_device) {
  Experiment e = one_step(GetParam().experiment);
  e.training.precision = experiment::Precision::fp32;
  EXPECT_LE(
      distance(assemble(e, trained(e), &RankOutcome::gradients), trained(on_one(e))[0].gradients),
      1e-5);
}

TEST_P(RpcTraining, sends_the_bytes_of_its_formula) { expect_sent_bytes(GetParam().experiment); }
TEST_P(RpcTraining, is_proved) { expect_proved(GetParam().experiment); }

constexpr auto kAll = RemoteLayers::all, kTables = RemoteLayers::embeddings;
constexpr auto kValue = RemoteOutput::value, kReference = RemoteOutput::reference;
using O = OptimizerKind;
INSTANTIATE_TEST_SUITE_P(
    Remote, RpcTraining,
    testing::Values(
        MeshCase{"rows_1_calls_1", remote(strategy::small_rows(1), {1, 1})},
        MeshCase{"rows_1_calls_3_by_reference",
                 remote(strategy::small_rows(1), {1, 3, kAll, kReference, 3}, O::adam)},
        MeshCase{"rows_2_call_2_by_value",
                 remote(strategy::small_rows(1), {2, 2, kAll, kValue, 2})},
        MeshCase{"rows_3_call_2_by_reference_clipped",
                 remote(strategy::small_rows(1), {3, 2, kAll, kReference, 2}, O::sgd, 0.2)},
        MeshCase{"uneven_3_call_3_by_value", remote(small(1, 24), {3, 3}, O::adamw)},
        MeshCase{"gpt_2_call_3_by_value", remote(strategy::small_gpt(1), {2, 3}, O::sgd)},
        MeshCase{"tied_2_call_2_by_reference_clipped",
                 remote(strategy::small_tied_gpt(1), {2, 2, kAll, kReference, 3}, O::adam, 0.3)},
        MeshCase{"tied_table_3_call_1",
                 remote(strategy::small_tied_gpt(1), {3, 1, kTables}, O::adam)},
        MeshCase{"gpt_table_2_call_1_clipped",
                 remote(strategy::small_gpt(1), {2, 1, kTables, kValue, 2}, O::sgd, 0.3)},
        MeshCase{"clicks_table_3_call_1",
                 remote(strategy::small_clicks(1), {3, 1, kTables, kValue, 2}, O::adam)},
        MeshCase{"clicks_2_call_2", remote(strategy::small_clicks(1), {2, 2, kAll, kReference})},
        MeshCase{"wide_tables_2_call_2_direct",
                 remote(strategy::small_wide_and_deep(1), {2, 2, kTables, kReference, 3}, O::sgd, 0,
                        Algorithm::direct)},
        MeshCase{"wide_tables_1_calls_1",
                 remote(strategy::small_wide_and_deep(1), {1, 1, kTables}, O::sgd, 0.2)},
        MeshCase{"wide_2_call_3_by_value",
                 remote(strategy::small_wide_and_deep(1), {2, 3, kAll, kValue, 2}, O::adamw)},
        MeshCase{"images_2_call_2_by_value",
                 remote(strategy::small_images(1), {2, 2, kAll, kValue, 2})},
        MeshCase{"images_3_call_3_by_reference",
                 remote(strategy::small_images(1), {3, 3, kAll, kReference})}),
    [](const testing::TestParamInfo<MeshCase>& one) { return one.param.name; });

// With 241 samples and 24 per step, only the first trainer has the last one: the others make no
// calls, contribute no gradient, and take part in the sum.
TEST(RpcTail, with_empty_trainers_equals_one_device) {
  for (const auto& [of, r] : {std::pair{strategy::small_clicks(1), Remote{3, 1, kTables}},
                              {strategy::small_rows(1), Remote{2, 2, kAll, kReference, 2}}}) {
    Experiment e = remote(of, r);
    e.data.train_samples = 241;
    ASSERT_EQ(experiment::resolve(e, ".").value().tail_samples, 1);
    expect_as_one_device(e, trained(e), trained(on_one(e))[0]);
    expect_proved(e);
    expect_sent_bytes(e);
  }
}

// Traffic of one step by peer.
std::vector<std::vector<std::int64_t>> payloads(Experiment e) {
  e.training.precision = experiment::Precision::fp32;
  std::vector<std::vector<std::int64_t>> sent;
  for (const RankOutcome& rank : trained(one_step(e))) {
    EXPECT_EQ(rank.problem, base::Problem{});
    auto& to = sent.emplace_back();
    for (const comm::Traffic& peer : rank.traffic)
      to.push_back(static_cast<std::int64_t>(peer.sent_payload_bytes));
  }
  return sent;
}

// A linear model of 7 features, 6, 4 and 5 outputs, its two first layers on one server, its last on
// another; fp32, 12 samples of each trainer.
TEST(RpcBytes, by_value_pass_the_trainer_and_by_reference_go_between_servers) {
  Experiment e = remote(strategy::small(1), {2, 2, kAll, kValue, 2});
  e.strategy.stages.partition = experiment::Partition::by_hand;
  e.strategy.stages.places = {{"0", 1}, {"4", 2}};
  const std::int64_t x = 4 * 12;  // bytes of a number of each sample
  const auto by_value = payloads(e);
  for (const std::size_t trainer : {0u, 1u}) {
    EXPECT_EQ(by_value[trainer][1 - trainer], 0);  // trainers keep nothing that they would sum
    EXPECT_EQ(by_value[trainer][2], x * (7 + 4))
        << "samples, and the gradient at the output of the first server";  // it gives nothing back
                                                                           // before the first layer
    EXPECT_EQ(by_value[trainer][3], x * (4 + 5)) << "that output, and the gradient of the loss";
    EXPECT_EQ(by_value[2][trainer], x * 4);
    EXPECT_EQ(by_value[3][trainer], x * (5 + 4)) << "logits, and the gradient at its input";
  }
  EXPECT_EQ(by_value[2][3] + by_value[3][2], 0);
  e.strategy.rpc.output = kReference;
  const auto by_reference = payloads(e);
  for (const std::size_t trainer : {0u, 1u}) {
    EXPECT_EQ(by_reference[trainer][2], x * 7);
    EXPECT_EQ(by_reference[trainer][3], x * 5);
    EXPECT_EQ(by_reference[2][trainer], 0);
    EXPECT_EQ(by_reference[3][trainer], x * 5);
  }
  EXPECT_EQ(by_reference[2][3], 2 * x * 4);
  EXPECT_EQ(by_reference[3][2], 2 * x * 4);
}

// Only the looked-up rows of a table of 42 rows of 4 numbers are transferred.
TEST(RpcBytes, of_a_table_are_those_of_the_lookups) {
  Experiment e = remote(strategy::small_clicks(1), {1, 1, kTables});
  const auto sent = payloads(e);
  const experiment::Resolved resolved = experiment::resolve(e, ".").value();
  const std::int64_t x = 4 * 24, looked_up = resolved.model.segments[0].outputs;
  EXPECT_EQ(sent[0][1], x * (resolved.model.features + looked_up));
  EXPECT_EQ(sent[1][0], x * looked_up);
}

// The running statistics that a server keeps follow the micro-batches of all trainers.
TEST(RpcStatistics, of_a_server_follow_all_trainers) {
  Experiment e = remote(strategy::small_normalized_images(1), {2, 1});
  e.training.steps = 1;
  const auto ranks = trained(e);
  ASSERT_EQ(ranks[2].problem, base::Problem{});
  Experiment one = on_one(e);
  one.training.batch_per_rank = 12;  // in the micro-batches that the trainers have
  one.training.accumulation_steps = 2;
  const auto alone = trained(one);
  ASSERT_EQ(alone[0].problem, base::Problem{});
  EXPECT_LE(distance(ranks[2].state, alone[0].state), 1e-10);
  EXPECT_LE(distance(ranks[2].parameters, alone[0].parameters), 1e-10);
}

// A gradient that is not finite on one server skips the update on all. A server's gradient covers
// the samples of all trainers, so nothing is reduced.
TEST(RpcNorms, of_a_server_are_those_of_its_update) {
  const Experiment e = one_step(remote(strategy::small_rows(1), {2, 1, kAll, kValue, 2}));
  const auto ranks = trained(e);
  ASSERT_EQ(ranks[2].problem, base::Problem{});
  const auto local = by_segment(ranks[2], telemetry::Metric::local_gradient_norm),
             reduced = by_segment(ranks[2], telemetry::Metric::reduced_gradient_norm);
  ASSERT_FALSE(local.empty());
  for (const auto& [segment, norm] : reduced)
    EXPECT_NEAR(local.at(segment), norm, 1e-10 * norm) << segment;
}

TEST(RpcUpdates, that_are_not_finite_are_skipped_by_all) {
  Experiment e = remote(strategy::small_clicks(1), {2, 1, kTables});
  e.training.steps = 3;
  e.training.non_finite = experiment::NonFinite::skip;
  const experiment::Resolved resolved = experiment::resolve(e, ".").value();
  const auto poisoned = [](int rank, const compute::Tensor& parameters) {
    if (rank == 2)
      for (std::int64_t i = 0; i < parameters.elements(); ++i)
        parameters.as<double>()[i] = std::numeric_limits<double>::infinity();
  };
  const auto ranks = train(resolved, compute::reference::make, in_process, {}, poisoned);
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    EXPECT_EQ(ranks[r].problem, base::Problem{});
    EXPECT_EQ(sum_of({ranks[r]}, telemetry::Metric::skipped_updates, 2), 3) << "rank " << r;
  }
}

// Run for run the numbers are those of the outputs that are kept.
TEST(RpcRecomputation, is_bit_identical) {
  for (const RemoteOutput output : {kValue, kReference}) {
    Experiment e = remote(strategy::small_rows(1), {2, 2, kAll, output, 2});
    e.training.steps = 22;
    const auto kept = assemble(e, trained(e), &RankOutcome::parameters);
    e.training.recompute_segments = 2;
    expect_proved(e);
    EXPECT_EQ(assemble(e, trained(e), &RankOutcome::parameters), kept);
  }
}

}  // namespace
}  // namespace trainyard::tests
