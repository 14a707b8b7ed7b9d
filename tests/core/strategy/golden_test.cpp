// SPDX-License-Identifier: GPL-3.0-or-later
// Plans of small experiments, in tests/golden, to be read like code. They must parse back as they
// are.
#include "tests/core/experiment/golden.h"

#include <gtest/gtest.h>

#include "core/plan/text.h"
#include "core/strategy/strategy.h"
#include "tests/core/strategy/rpc_experiments.h"

namespace trainyard::strategy {
namespace {

void expect_golden_plan(const std::string& name, const experiment::Resolved& r) {
  const plan::Plan plan = make_plan(r).value();
  const std::string text = plan::to_text(plan);
  expect_golden(in_tree("tests/golden/" + name + ".plan"), text);
  const auto read = plan::parse(text);
  ASSERT_TRUE(read) << base::to_string(read.error());
  EXPECT_EQ(plan::to_text(*read), text);
  EXPECT_EQ(plan::hash(*read), plan::hash(plan));
}

void expect_golden_plan(const std::string& name, const experiment::Experiment& e) {
  expect_golden_plan(name, resolved(e));
}

// Two layers; full steps only.
experiment::Experiment tiny(int ranks) {
  auto e = small(ranks);
  e.model.layers = {
      {model::LayerKind::linear, 6}, {model::LayerKind::relu, 0}, {model::LayerKind::linear, 0}};
  e.data.train_samples = 8 * ranks * 4;
  e.data.held_out_samples = 8 * ranks;
  return e;
}

TEST(Golden, one_device) {
  auto e = tiny(1);
  e.strategy.kind = experiment::StrategyKind::one_device;
  expect_golden_plan("one_device", e);
}

TEST(Golden, mirrored_ring_of_three) { expect_golden_plan("mirrored_ring_3", tiny(3)); }

TEST(Golden, mirrored_direct_of_three) {
  auto e = tiny(3);
  e.strategy.algorithm = collective::Algorithm::direct;
  expect_golden_plan("mirrored_direct_3", e);
}

TEST(Golden, multi_worker_mirrored_sharded_over_two_hosts_of_two) {
  auto e = tiny(4);
  e.topology = tests::drawn_hosts(2, 2);
  e.strategy.kind = experiment::StrategyKind::multi_worker_mirrored;
  e.strategy.algorithm = collective::Algorithm::sharded_hierarchical;
  expect_golden_plan("multi_worker_mirrored_sharded_2x2", e);
}

TEST(Golden, ddp_of_three_with_gloo) {
  auto e = tiny(3);
  e.strategy.kind = experiment::StrategyKind::ddp;
  auto r = resolved(e);
  r.document.strategy.engine = experiment::Engine::gloo;  // whether it is in this build or not
  expect_golden_plan("ddp_gloo_3", r);
}

TEST(Golden, ddp_of_three) {
  auto e = tiny(3);
  e.strategy.kind = experiment::StrategyKind::ddp;
  expect_golden_plan("ddp_ring_3", e);
}

// Rows of 2, columns of 2: along rows, along columns and back, along rows and back.
TEST(Golden, tpu_torus_of_two_by_two) {
  auto e = tiny(4);
  e.topology = tests::drawn_tpus(1, 4);
  e.strategy.kind = experiment::StrategyKind::tpu;
  e.strategy.algorithm = collective::Algorithm::torus;
  expect_golden_plan("tpu_torus_2x2", e);
}

// Four ranks, each with two neighbors; two buckets.
TEST(Golden, gossip_in_a_ring_of_four) {
  auto e = tiny(4);
  e.strategy.kind = experiment::StrategyKind::gossip;
  e.strategy.gossip.consensus_every_steps = 3;
  e.strategy.bucket_bytes = 100;
  expect_golden_plan("gossip_ring_4", e);
}

// Ranks 0 and 2 ask, 1 and 3 answer; the tail of one sample is rank 0's alone.
TEST(Golden, asynchronous_gossip_in_a_ring_of_four) {
  auto e = tiny(4);
  e.data.train_samples += 1;
  e.strategy.kind = experiment::StrategyKind::gossip;
  e.strategy.gossip.mode = experiment::GossipMode::asynchronous;
  e.strategy.gossip.consensus_every_steps = 3;
  expect_golden_plan("gossip_asynchronous_ring_4", e);
}

// Two buckets, which are synchronized at every second step; either rank may have the tail of one
// sample.
experiment::Experiment local(experiment::LocalRule rule) {
  auto e = tiny(2);
  e.data.train_samples += 1;
  e.strategy.kind = experiment::StrategyKind::local_sgd;
  e.strategy.local_sgd.average_every_steps = 2;
  e.strategy.local_sgd.rule = rule;
  e.strategy.bucket_bytes = 100;
  return e;
}

TEST(Golden, local_sgd_of_two_with_tail) {
  expect_golden_plan("local_sgd_2_tail", local(experiment::LocalRule::average));
}

TEST(Golden, local_sgd_of_two_with_elastic_averaging) {
  expect_golden_plan("local_sgd_2_elastic", local(experiment::LocalRule::elastic));
}

// The storage is rank 1; the tail of one sample leaves none to rank 2.
TEST(Golden, central_storage_of_two_devices_and_a_cpu) {
  auto e = tiny(2);
  e.topology = tests::drawn_storage(2, 1);
  e.data.train_samples += 1;
  e.strategy.kind = experiment::StrategyKind::central_storage;
  expect_golden_plan("central_storage_2", e);
}

// The tail of one sample leaves none to rank 1.
TEST(Golden, data_parallel_of_two_with_tail) {
  auto e = tiny(2);
  e.data.train_samples += 1;
  e.strategy.kind = experiment::StrategyKind::data_parallel;
  expect_golden_plan("data_parallel_2_tail", e);
}

// A wide half reads the sample last going forward and first going back: what is loaded next waits
// for both. Two micro-steps of 4 samples.
TEST(Golden, one_device_wide_and_deep) {
  auto e = small_wide_and_deep(1);
  e.strategy.kind = experiment::StrategyKind::one_device;
  e.training.batch_per_rank = 4;
  e.training.accumulation_steps = 2;
  e.data.train_samples = 8 * 4;
  e.data.held_out_samples = 4;
  expect_golden_plan("one_device_wide_and_deep", e);
}

// Two workers, two servers, each with a part of a segment; one gradient in two is an update.
TEST(Golden, parameter_servers_of_two_workers) {
  auto e = tiny(4);
  e.topology.hosts[0].devices[0].role = e.topology.hosts[0].devices[2].role =
      topology::Role::parameter_server;
  e.strategy.kind = experiment::StrategyKind::parameter_server;
  e.strategy.servers.mode = experiment::ServerMode::stale_synchronous;
  e.strategy.servers.bound = 2;
  expect_golden_plan("parameter_server_2x2", e);
}

// Workers pull and push the table rows that their samples name; both servers have a shard of the
// table.
TEST(Golden, parameter_servers_of_two_workers_and_a_table) {
  auto e = small_clicks(3);
  e.data.train_samples = 64, e.data.held_out_samples = 16;
  e.training.batch_per_rank = 4;
  e.topology.hosts[0].devices[0].role = e.topology.hosts[0].devices[2].role =
      topology::Role::parameter_server;
  e.strategy.kind = experiment::StrategyKind::parameter_server;
  expect_golden_plan("parameter_server_1x2_table", e);
}

TEST(Golden, mirrored_double_binary_tree_of_three_in_segments) {
  auto e = tiny(3);
  e.strategy.algorithm = collective::Algorithm::double_binary_tree;
  e.strategy.bucket_bytes = 1e9;
  e.strategy.segment_bytes = 200;
  expect_golden_plan("mirrored_double_binary_tree_3_segments", e);
}

experiment::Experiment tiny_compressed(int ranks, compute::compression::Scheme kind) {
  auto e = tiny(ranks);
  e.strategy.bucket_bytes = 1;
  e.strategy.compression = {kind, 0.1, 2, true};
  return e;
}

// Data in flight have half the size; any all-reduce sums them.
TEST(Golden, mirrored_ring_of_two_in_fp16) {
  expect_golden_plan("mirrored_ring_2_fp16",
                     tiny_compressed(2, compute::compression::Scheme::fp16));
}

// The chunks of all are gathered, and added up by who decodes them.
TEST(Golden, mirrored_ring_of_three_top_k) {
  expect_golden_plan("mirrored_ring_3_top_k",
                     tiny_compressed(3, compute::compression::Scheme::top_k));
}

// Two collectives a bucket, the second of what came of the first.
TEST(Golden, mirrored_direct_of_two_with_power_sgd_and_clipping) {
  auto e = tiny_compressed(2, compute::compression::Scheme::power_sgd);
  e.strategy.compression.rank = 1;
  e.strategy.algorithm = collective::Algorithm::direct;
  e.training.clip_norm = 1;
  expect_golden_plan("mirrored_direct_2_power_sgd_clip", e);
}

// A tail of two samples for three ranks, one of them without any; evaluation in unequal parts; Adam
// in fp64.
TEST(Golden, mirrored_ring_of_three_with_tail_and_clipping) {
  auto e = tiny(3);
  e.data.train_samples += 2;
  e.data.held_out_samples = 53;
  e.training.clip_norm = 1;
  e.training.precision = experiment::Precision::fp64;
  e.training.optimizer.kind = experiment::OptimizerKind::adam;
  expect_golden_plan("mirrored_ring_3_tail_clip", e);
}

// Shards of 32, 16 and 8 samples: who has run out sends zeros, and the others' samples count more.
TEST(Golden, mirrored_ring_of_three_with_unequal_shards) {
  auto e = tiny(3);
  e.data.train_samples = 56;
  e.data.held_out_samples = 0;
  e.data.sharding.kind = data::ShardingKind::size_skew;
  expect_golden_plan("mirrored_ring_3_size_skew", e);
}

// A residual block with batch normalization and dropout; two buckets, of which segments without
// parameters are no part.
TEST(Golden, mirrored_ring_of_two_with_images) {
  auto e = small_normalized_images(2);
  e.data.train_samples = 8 * 2 * 4;
  e.data.held_out_samples = 8 * 2;
  e.strategy.bucket_bytes = 400;
  expect_golden_plan("mirrored_ring_2_images", e);
}

// Two micro-steps of 4 samples; in the tail rank 0 has one of 4 and one of 1, the others one of 4.
TEST(Golden, mirrored_ring_of_three_with_accumulation) {
  auto e = tiny(3);
  e.data.train_samples += 13;
  e.training.batch_per_rank = 4;
  e.training.accumulation_steps = 2;
  expect_golden_plan("mirrored_ring_3_accumulation", e);
}

// Two batch normalizations, the second within a residual block; in the tail rank 0 has a micro-step
// of 4 samples and one of 1, rank 1 but one of 4, and adds nothing to the second's sums.
TEST(Golden, mirrored_direct_of_two_with_synchronized_batch_normalization) {
  auto e = small_normalized_images(2);
  e.model.layers.insert(e.model.layers.begin() + 1, {model::LayerKind::batch_norm, 0});
  e = synchronized(e);
  e.data.train_samples = 2 * 8 * 2 + 9;
  e.data.held_out_samples = 8 * 2;
  e.training.batch_per_rank = 4;
  e.training.accumulation_steps = 2;
  e.strategy.algorithm = collective::Algorithm::direct;
  expect_golden_plan("mirrored_direct_2_synchronized", e);
}

// 7 columns: 3, 2 and 2. Two micro-steps; in the tail rank 0 has one of 4 rows and one of 1, the
// others one of 4, and none in the second, for which they multiply by their columns all the same.
TEST(Golden, mirrored_ring_of_three_with_vertical_sharding) {
  auto e = tiny(3);
  e.data.sharding.kind = data::ShardingKind::vertical;
  e.data.train_samples += 13;
  e.data.held_out_samples = 14;
  e.training.batch_per_rank = 4;
  e.training.accumulation_steps = 2;
  expect_golden_plan("mirrored_ring_3_vertical", e);
}

TEST(Golden, mirrored_ring_of_two_with_averaged_weights) {
  auto e = tiny(2);
  e.strategy.average = experiment::AveragedQuantity::weights;
  expect_golden_plan("mirrored_ring_2_weights", e);
}

experiment::Experiment tiny_pipeline(int ranks, experiment::PipelineSchedule schedule,
                                     std::int64_t micro_batches) {
  auto e = tiny(ranks);
  e.strategy.kind = experiment::StrategyKind::pipeline;
  e.strategy.stages.schedule = schedule;
  e.training.batch_per_rank = 8;
  e.training.accumulation_steps = micro_batches;
  return e;
}

TEST(Golden, pipeline_of_two_1f1b) {
  expect_golden_plan("pipeline_2_1f1b",
                     tiny_pipeline(2, experiment::PipelineSchedule::one_forward_one_backward, 4));
}
// The second rank stashes weights for the micro-batch in between.
TEST(Golden, pipeline_of_three_pipedream) {
  auto e = tiny_pipeline(3, experiment::PipelineSchedule::pipedream, 3);
  e.model.layers.insert(e.model.layers.begin() + 2, {model::LayerKind::linear, 6});
  expect_golden_plan("pipeline_3_pipedream", e);
}
TEST(Golden, pipeline_of_two_zb_h1) {
  expect_golden_plan("pipeline_2_zb_h1", tiny_pipeline(2, experiment::PipelineSchedule::zb_h1, 4));
}

// Four layers in runs of two: a replica makes the first again, and each stage both of its own.
experiment::Experiment tiny_chain(experiment::Experiment e) {
  using model::LayerKind;
  e.model.layers = {{LayerKind::linear, 6}, {LayerKind::tanh, 0},   {LayerKind::linear, 6},
                    {LayerKind::tanh, 0},   {LayerKind::linear, 6}, {LayerKind::relu, 0},
                    {LayerKind::linear, 0}};
  e.training.recompute_segments = 2;
  return e;
}

TEST(Golden, mirrored_ring_of_two_with_recomputation) {
  expect_golden_plan("mirrored_ring_2_recompute", tiny_chain(tiny(2)));
}

TEST(Golden, pipeline_of_two_gpipe_with_recomputation) {
  expect_golden_plan("pipeline_2_gpipe_recompute",
                     tiny_chain(tiny_pipeline(2, experiment::PipelineSchedule::gpipe, 3)));
}

// Six layers, of which the first two come late enough again.
TEST(Golden, one_device_with_offloading) {
  using model::LayerKind;
  auto e = tiny(1);
  e.strategy.kind = experiment::StrategyKind::one_device;
  e.model.layers.assign(5, {LayerKind::linear, 4});
  e.model.layers.push_back({LayerKind::linear, 0});
  e.training.optimizer.momentum = 0.9;
  e.training.swap = {experiment::OffloadTarget::host, experiment::OffloadTarget::disk, ""};
  expect_golden_plan("one_device_swap", e);
}

experiment::Experiment tiny_sharded(int ranks, experiment::Shard shard) {
  auto e = tiny(ranks);
  e.strategy.kind = experiment::StrategyKind::fsdp;
  e.strategy.fsdp.shard = shard;
  return e;
}

// Weights are cast once a program; what passes between layers is half as long.
TEST(Golden, mirrored_ring_of_two_in_bf16) {
  auto e = tiny_chain(tiny(2));
  e.training.precision = experiment::Precision::bf16;
  expect_golden_plan("mirrored_ring_2_bf16", e);
}

// Units come and go, and are cast whenever they have come.
TEST(Golden, fsdp_of_two_full_in_bf16) {
  auto e = tiny_sharded(2, experiment::Shard::full);
  e.training.precision = experiment::Precision::bf16;
  expect_golden_plan("fsdp_2_full_bf16", e);
}

// The updating rank determines the loss scale and sends it after the parameters.
TEST(Golden, central_storage_of_two_in_fp16) {
  auto e = tiny(2);
  e.topology = tests::drawn_storage(2, 1);
  e.strategy.kind = experiment::StrategyKind::central_storage;
  e.training.precision = experiment::Precision::fp16;
  expect_golden_plan("central_storage_2_fp16", e);
}

// 6 and 4 units and 5 classes: a pair of layers, then sharded classes.
TEST(Golden, tensor_parallel_of_two) {
  auto e = tiny(2);
  e.strategy.kind = experiment::StrategyKind::tensor_parallel;
  expect_golden_plan("tensor_parallel_2", e);
}

experiment::Experiment tiny_mesh(int data, int pipeline, int tensor) {
  auto e = tiny(data * pipeline * tensor);
  e.strategy.kind = experiment::StrategyKind::hybrid;
  e.strategy.mesh = {.data = data, .pipeline = pipeline, .tensor = tensor, .shards_data = false};
  return e;
}

// Two replicas, whose two parts share the layers; the tail of one sample is the first one's.
TEST(Golden, hybrid_of_two_by_one_by_two_with_tail) {
  auto e = tiny_mesh(2, 1, 2);
  e.data.train_samples += 1;
  expect_golden_plan("hybrid_2x1x2_tail", e);
}

// Two pipelines of two, in two micro-batches, each of which updates but its part.
TEST(Golden, hybrid_of_two_by_two_by_one_with_sharding_and_clipping) {
  auto e = tiny_mesh(2, 2, 1);
  e.strategy.mesh.shards_data = true;
  e.strategy.fsdp.shard = experiment::Shard::optimizer;
  e.training.batch_per_rank = 2;
  e.training.accumulation_steps = 2;
  e.training.clip_norm = 1;
  expect_golden_plan("hybrid_2x2x1_sharded_clip", e);
}

// Two pipelines of two stages, whose replicas fully shard a stage. Per micro-batch, a stage gathers
// its two layers in each direction, one ahead.
TEST(Golden, hybrid_of_two_by_two_by_one_full) {
  auto e = tiny_mesh(2, 2, 1);
  e.model.layers.insert(e.model.layers.begin(), {model::LayerKind::linear, 3});
  e.strategy.mesh.shards_data = true;
  e.strategy.bucket_bytes = 1;
  e.training.batch_per_rank = 2;
  e.training.accumulation_steps = 2;
  expect_golden_plan("hybrid_2x2x1_full", e);
}

// Two pipelines of two, of which a stage sums the gradient of each micro-batch, and updates by it.
TEST(Golden, hybrid_of_two_by_two_by_one_with_pipedream) {
  auto e = tiny_mesh(2, 2, 1);
  e.strategy.stages.schedule = experiment::PipelineSchedule::pipedream;
  e.training.batch_per_rank = 2;
  e.training.accumulation_steps = 2;
  expect_golden_plan("hybrid_2x2x1_pipedream", e);
}

// Two hosts of two replicas: those of a host share gradients and moments out, and sum their parts
// with those of the other host once a step.
TEST(Golden, hybrid_of_four_by_one_by_one_sharded_within_hosts) {
  auto e = tiny_mesh(4, 1, 1);
  e.topology = tests::drawn_hosts(2, 2);
  e.strategy.mesh.shards_data = true;
  e.strategy.fsdp.shard = experiment::Shard::gradients;
  e.strategy.fsdp.group = experiment::ShardGroup::host;
  e.training.batch_per_rank = 2;
  e.training.accumulation_steps = 2;
  expect_golden_plan("hybrid_4x1x1_hosts_gradients", e);
}

// The output of a pair's first layer is discarded; the sum over ranks of the second is kept.
TEST(Golden, hybrid_of_one_by_one_by_two_with_recomputation) {
  auto e = tiny_mesh(1, 1, 2);
  e.model.layers.insert(e.model.layers.end(), {{model::LayerKind::relu, 0},
                                               {model::LayerKind::linear, 4},
                                               {model::LayerKind::relu, 0},
                                               {model::LayerKind::linear, 0}});
  e.model.layers[2].units = 5;
  e.training.recompute_segments = 2;
  expect_golden_plan("hybrid_1x1x2_recompute", e);
}

// Two trainers, ranks 0 and 1, call an embedding on rank 2, and sum the gradients of the linear
// layers; clipped, the tail of three samples is two and one.
TEST(Golden, rpc_of_two_trainers_and_a_table_with_clipping_and_tail) {
  auto e = called(small_clicks(1), 2, 1, experiment::RemoteLayers::embeddings);
  e.data.train_samples = 35;
  e.data.held_out_samples = 9;
  e.training.batch_per_rank = 4;
  e.training.accumulation_steps = 2;
  e.training.clip_norm = 1;
  expect_golden_plan("rpc_2x1_table_clip_tail", e);
}

// One trainer, rank 0, calls a layer on each of two servers: their outputs come back to it, or go
// from one to the other.
TEST(Golden, rpc_of_a_trainer_and_two_servers_by_value_and_by_reference) {
  auto e = called(tiny(1), 1, 2);
  expect_golden_plan("rpc_1x2_value", e);
  e.strategy.rpc.output = experiment::RemoteOutput::reference;
  expect_golden_plan("rpc_1x2_reference", e);
}

TEST(Golden, fsdp_of_two_full) {
  expect_golden_plan("fsdp_2_full", tiny_sharded(2, experiment::Shard::full));
}

TEST(Golden, fsdp_of_three_with_sharded_optimizer_and_clipping) {
  auto e = tiny_sharded(3, experiment::Shard::optimizer);
  e.training.clip_norm = 1;
  expect_golden_plan("fsdp_3_optimizer_clip", e);
}

TEST(Golden, model_parallel_of_two_with_clipping) {
  auto e = tiny_pipeline(2, experiment::PipelineSchedule::naive, 1);
  e.strategy.kind = experiment::StrategyKind::model_parallel;
  e.training.clip_norm = 1;
  expect_golden_plan("model_parallel_2_clip", e);
}

}  // namespace
}  // namespace trainyard::strategy
