// SPDX-License-Identifier: GPL-3.0-or-later
// Who writes a checkpoint of parts.
#include <gtest/gtest.h>

#include "core/experiment/stages.h"
#include "core/session/checkpoint_pieces.h"
#include "core/session/resume.h"
#include "tests/core/strategy/experiments.h"

namespace trainyard::session {
namespace {

// Hosts that have a whole model each: the one whose chief has the running statistics.
TEST(WritersOfParts, are_where_the_chief_is) {
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

// What each rank of a split model writes: rows, columns, and of what all have alike the first rank's. Together it is all of the model, each element once.
TEST(PartsOfLayers, are_one_checkpoint) {
  experiment::Experiment e = strategy::small_tied_gpt(2);
  e.strategy.kind = experiment::StrategyKind::tensor_parallel;
  const experiment::Resolved all = strategy::resolved(e);
  const auto numbered = [](const model::Model& model, int rank) {
    std::vector<float> values(static_cast<std::size_t>(model.elements));
    for (const model::Parameter& p : model.parameters)
      for (std::int64_t i = 0; i < p.shape.elements(); ++i)
        values[static_cast<std::size_t>(p.offset + i)] = static_cast<float>(1000 * p.number + p.in_whole(i)) + (p.box.any() || rank == 0 ? 0.F : 0.5F);
    return values;
  };
  const auto tensor = [](std::vector<float>& values) {
    return compute::Tensor{base::DType::fp32, {std::ssize(values)}, reinterpret_cast<std::byte*>(values.data())};
  };
  std::vector<std::vector<float>> memory;
  std::vector<NamedTensor> pieces;
  for (int rank = 0; rank < 2; ++rank) {
    const experiment::Resolved own = experiment::of_rank(all, rank);
    memory.push_back(numbered(own.model, rank));
    for (const NamedTensor& piece : pieces_of(own.model, spans_of_part(own, rank, tensor(memory.back()), {}))) pieces.push_back(piece);
  }
  std::vector<float> read(static_cast<std::size_t>(all.model.elements));
  const CheckpointTensors wanted{tensor(read), {}, {}};
  const auto fits = check_pieces("checkpoint", pieces, all.model, wanted);
  ASSERT_TRUE(fits) << base::to_string(fits.error());
  copy_pieces(pieces, all.model, wanted);
  EXPECT_EQ(read, numbered(all.model, 0));
  pieces.pop_back();
  EXPECT_FALSE(check_pieces("checkpoint", pieces, all.model, wanted)) << "one is missing";
  pieces.push_back(pieces.front());
  EXPECT_FALSE(check_pieces("checkpoint", pieces, all.model, wanted)) << "one is there twice";
}

}  // namespace
}  // namespace trainyard::session
