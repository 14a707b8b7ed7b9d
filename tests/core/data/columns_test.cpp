// SPDX-License-Identifier: GPL-3.0-or-later
// Feature columns, and the rows of all ranks: who takes in what.
#include "core/data/columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/data/input_pipeline.h"
#include "tests/core/data/files.h"

namespace trainyard::data {
namespace {

std::shared_ptr<const Dataset> blobs(std::int64_t features, std::int64_t samples) {
  DataSpec spec;
  spec.kind = DataKind::blobs;
  spec.features = features;
  spec.train_samples = samples;
  spec.held_out_samples = 5;
  return open(spec, "").value();
}

TEST(Columns, are_those_of_the_full_sample) {
  const auto whole = blobs(7, 40), part = only_columns(whole, 3, 2);
  EXPECT_EQ(part->summary().features(), 2);
  EXPECT_EQ(part->summary().train_samples, 40);
  for (const Split split : {Split::train, Split::held_out}) {
    const std::vector<std::int64_t> indices{4, 0, 3};
    const auto all = read(*whole, split, indices), own = read(*part, split, indices);
    EXPECT_EQ(own.labels, all.labels);
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t c = 0; c < 2; ++c)
        EXPECT_EQ(own.features[2 * i + c], all.features[7 * i + 3 + c]);
  }
}

RC_GTEST_PROP(Columns, of_all_ranks_cover_every_column_once, ()) {
  const auto ranks = *rc::gen::inRange<std::int64_t>(1, 40),
             features = *rc::gen::inRange<std::int64_t>(ranks, 2000);
  std::int64_t next = 0, least = features, most = 0;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    const auto [first, count] = columns_of(features, ranks, rank);
    RC_ASSERT(first == next);
    next += count, least = std::min(least, count), most = std::max(most, count);
  }
  RC_ASSERT(next == features);
  RC_ASSERT(least >= 1 && most - least <= 1);
}

// Rows of all: the own part of every rank's batches, put together, is the part that it would have
// loaded by itself.
RC_GTEST_PROP(MicroBatches, of_all_rows_contain_the_part_of_every_rank_in_order, ()) {
  const auto ranks = *rc::gen::inRange<std::int64_t>(1, 5),
             most = *rc::gen::inRange<std::int64_t>(1, 6),
             micro_steps = *rc::gen::inRange<std::int64_t>(1, 4);
  const auto samples = *rc::gen::inRange<std::int64_t>(ranks * most * micro_steps, 200);
  Sampler sampler(3, samples, most * micro_steps, ranks);
  for (std::int64_t step = 0; step < sampler.shares().steps_per_epoch(); ++step) {
    std::vector<std::vector<std::int64_t>> taken(static_cast<std::size_t>(ranks));
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      MicroBatches all(sampler, rank, most, Rows::all);
      MicroBatch batch;
      std::vector<std::int64_t> seen;
      for (std::int64_t micro = 0; micro == 0 || !batch.last; ++micro) {
        all.take(step, micro, batch);
        RC_ASSERT(batch.own <= most);
        const auto own = batch.indices.begin() + batch.own_first;
        taken[static_cast<std::size_t>(rank)].insert(taken[static_cast<std::size_t>(rank)].end(),
                                                     own, own + batch.own);
        seen.insert(seen.end(), batch.indices.begin(), batch.indices.end());
      }
      RC_ASSERT(std::ssize(seen) == sampler.shares().global_samples(step));
    }
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      const auto part = sampler.indices(step, rank);
      RC_ASSERT(std::vector(part.begin(), part.end()) == taken[static_cast<std::size_t>(rank)]);
    }
  }
}

TEST(InputPipelineRows, returns_local_columns_of_all_rows_and_marks_local_rows) {
  const auto set = blobs(7, 50);
  Sampler sampler(1, 50, 8, 3);
  InputPipeline pipeline(only_columns(set, 5, 2), sampler, 1, 0, 3, 2, 4, Rows::all);
  for (std::int64_t step = 0; step < 2; ++step)
    for (std::int64_t micro = 0; micro < 2; ++micro) {
      const Batch& batch = pipeline.wait_next();
      EXPECT_EQ(batch.step, step);
      EXPECT_EQ(batch.samples, 12);
      EXPECT_EQ(batch.own_first, 4);
      EXPECT_EQ(batch.own, 4);
      EXPECT_EQ(std::ssize(batch.features), 24);
      const auto part = sampler.indices(step, 1);
      for (std::int64_t i = 0; i < 4; ++i)
        EXPECT_EQ(batch.numbers[static_cast<std::size_t>(4 + i)],
                  part[static_cast<std::size_t>(4 * micro + i)]);
      pipeline.release();
    }
  const Batch& tail = pipeline.wait_next();  // of 2 samples rank 1 has the second
  EXPECT_EQ(tail.samples, 2);
  EXPECT_EQ(tail.own_first, 1);
  EXPECT_EQ(tail.own, 1);
}

}  // namespace
}  // namespace trainyard::data
