// SPDX-License-Identifier: GPL-3.0-or-later
// Assignment of checkpoint shards to the ranks that write them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/experiment/fsdp.h"
#include "core/experiment/stages.h"
#include "core/session/checkpoint/checkpoint_pieces.h"
#include "core/session/checkpoint/resume.h"
#include "tests/core/strategy/rpc_experiments.h"

namespace trainyard::session {
namespace {

// Hosts that have a whole model each: the one whose chief has the running statistics.
TEST(PartWriters, are_on_the_rank_of_the_chief) {
  experiment::Experiment e = strategy::small(4);
  e.topology = tests::drawn_hosts(2, 2);
  e.topology.hosts[1].devices[1].role = topology::Role::chief;
  e.strategy.kind = experiment::StrategyKind::fsdp;
  e.strategy.fsdp.group = experiment::ShardGroup::host;
  const experiment::Resolved resolved = strategy::resolved(e);
  ASSERT_EQ(resolved.chief, 3);
  EXPECT_EQ(count_parts(resolved), 2);
  for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(writes_part(resolved, rank), rank >= 2) << rank;
}

// The same for a mesh whose replicas shard each stage's model within their hosts.
TEST(PartWriters, of_a_mesh_are_on_the_host_of_the_replica_of_the_chief) {
  experiment::Experiment e = strategy::small(8);
  e.topology = tests::drawn_hosts(2, 4);
  e.topology.hosts[1].devices[1].role = topology::Role::chief;
  e.strategy.kind = experiment::StrategyKind::hybrid;
  e.strategy.mesh = {.data = 4, .pipeline = 1, .tensor = 2, .shards_data = true};
  e.strategy.fsdp.group = experiment::ShardGroup::host;
  const experiment::Resolved resolved = strategy::resolved(e);
  ASSERT_EQ(resolved.chief, 5);
  EXPECT_EQ(count_parts(resolved), 4);
  for (int rank = 0; rank < 8; ++rank) EXPECT_EQ(writes_part(resolved, rank), rank >= 4) << rank;
}

// Servers write what they keep, whichever trainer is the chief, who writes what trainers have.
TEST(PartWriters, are_the_servers_and_the_chief_trainer) {
  experiment::Experiment e = strategy::called(strategy::small_clicks(1), 3, 2);
  e.topology.hosts[0].devices[3].role = topology::Role::chief;
  const experiment::Resolved resolved = strategy::resolved(e);
  ASSERT_EQ(resolved.chief, 1);
  EXPECT_EQ(count_parts(resolved), 3);
  for (int rank = 0; rank < 5; ++rank)
    EXPECT_EQ(writes_part(resolved, rank), rank == 1 || rank >= 3) << rank;
}

// The running statistics of a layer are with it, on a server too.
TEST(PartWriters, on_servers_write_their_running_statistics) {
  experiment::Experiment e = strategy::called(strategy::small_normalized_images(1), 2, 1);
  e.topology.hosts[0].devices[2].role = topology::Role::chief;
  const experiment::Resolved all = strategy::resolved(e);
  ASSERT_EQ(all.chief, 1);
  for (const int rank : {1, 2}) {
    const experiment::Resolved own = experiment::of_rank(all, rank);
    std::vector<float> state(static_cast<std::size_t>(own.model.state_elements));
    const compute::Tensor tensor{
        base::DType::fp32, {std::ssize(state)}, reinterpret_cast<std::byte*>(state.data())};
    const auto spans = spans_of_part(own, rank, {}, tensor);
    const auto is_state = [](const CheckpointSpan& span) {
      return span.buffer == CheckpointBuffer::state;
    };
    EXPECT_EQ(std::any_of(spans.begin(), spans.end(), is_state), !state.empty()) << rank;
    EXPECT_TRUE(rank != 2 || !state.empty()) << "rank 2 has a normalization";
  }
}

// Shards that each rank of a split model writes: its layers, rows and columns. Shared layers are
// written by their first rank. Replicas are written by the chief's, or by all if they are sharded.
// Together they are the full model, each element once.
std::vector<float> shards_of_rank(const std::vector<float>& all,
                                  const std::vector<experiment::ElementRange>& parts) {
  std::vector<float> own;
  for (const experiment::ElementRange& part : parts)
    own.insert(own.end(), all.begin() + part.first, all.begin() + part.first + part.count);
  return own;
}

class LayerParts : public testing::TestWithParam<experiment::MeshSpec> {};

TEST_P(LayerParts, are_one_checkpoint) {
  const experiment::MeshSpec& mesh = GetParam();
  experiment::Experiment e =
      strategy::small_tied_gpt(static_cast<int>(mesh.data * mesh.pipeline * mesh.tensor));
  e.strategy.kind = experiment::StrategyKind::hybrid;
  e.strategy.stages.schedule = experiment::PipelineSchedule::gpipe;
  e.strategy.mesh = mesh;
  e.strategy.bucket_bytes = 300;
  const experiment::Resolved all = strategy::resolved(e);
  const auto numbered = [](const model::Model& model, bool writes) {
    std::vector<float> values(static_cast<std::size_t>(model.elements));
    for (const model::Parameter& p : model.parameters)
      for (std::int64_t i = 0; i < p.shape.elements(); ++i)
        values[static_cast<std::size_t>(p.offset + i)] =
            static_cast<float>(1000 * p.number + p.index_in_full(i)) +
            (p.box.any() || writes ? 0.F : 0.5F);
    return values;
  };
  const auto tensor = [](std::vector<float>& values) {
    return compute::Tensor{
        base::DType::fp32, {std::ssize(values)}, reinterpret_cast<std::byte*>(values.data())};
  };
  std::vector<std::vector<float>> memory;
  std::vector<NamedTensor> pieces;
  int writers = 0;
  for (int rank = 0; rank < all.world(); ++rank) {
    const experiment::Resolved own = experiment::of_rank(all, rank);
    if (!writes_part(own, rank)) continue;
    ++writers;
    memory.push_back(numbered(own.model, rank % mesh.tensor == 0));
    if (experiment::shards_parameters(own))
      memory.back() = shards_of_rank(memory.back(), experiment::shards_of_rank(own, rank));
    for (const NamedTensor& piece :
         pieces_of(own.model, spans_of_part(own, rank, tensor(memory.back()), {})))
      pieces.push_back(piece);
  }
  EXPECT_EQ(writers, count_parts(all));
  std::vector<float> read(static_cast<std::size_t>(all.model.elements));
  const CheckpointTensors wanted{tensor(read), {}, {}};
  const auto fits = check_pieces("checkpoint", pieces, all.model, wanted);
  ASSERT_TRUE(fits) << base::to_string(fits.error());
  copy_pieces(pieces, all.model, wanted);
  EXPECT_EQ(read, numbered(all.model, true));
  std::vector<float> moment(read.size());
  const auto no_moment =
      check_pieces("checkpoint", pieces, all.model, {tensor(read), {}, {tensor(moment)}});
  ASSERT_FALSE(no_moment);
  EXPECT_EQ(no_moment.error().id, "checkpoint_without_moments")
      << "an optimizer with momentum cannot resume from it";
  pieces.pop_back();
  EXPECT_FALSE(check_pieces("checkpoint", pieces, all.model, wanted)) << "one is missing";
  pieces.push_back(pieces.front());
  EXPECT_FALSE(check_pieces("checkpoint", pieces, all.model, wanted)) << "one is there twice";
}

INSTANTIATE_TEST_SUITE_P(
    Meshes, LayerParts,
    testing::Values(experiment::MeshSpec{1, 1, 2, false}, experiment::MeshSpec{1, 3, 1, false},
                    experiment::MeshSpec{2, 2, 2, false}, experiment::MeshSpec{2, 2, 1, true},
                    experiment::MeshSpec{3, 1, 2, true}, experiment::MeshSpec{3, 2, 2, true}));

}  // namespace
}  // namespace trainyard::session
