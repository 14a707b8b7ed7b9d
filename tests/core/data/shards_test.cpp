// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/shards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>

#include "core/data/sampler.h"
#include "tests/core/data/sampled.h"

namespace trainyard::data {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TrainingLabels labels_of(std::int64_t samples, std::int64_t classes) {
  TrainingLabels labels;
  for (std::int64_t i = 0; i < samples; ++i)
    labels.classes.push_back(static_cast<std::int32_t>(i % classes));
  return labels;
}

ShardingSpec spec_of(ShardingKind kind) {
  ShardingSpec spec;
  spec.kind = kind;
  return spec;
}

ShardingSpec any_owning_spec() {
  ShardingSpec spec = spec_of(*rc::gen::element(ShardingKind::contiguous, ShardingKind::label_skew,
                                                ShardingKind::size_skew));
  spec.alpha = *rc::gen::element(0.001, 0.1, 0.5, 10.0, 1e6);
  spec.size_ratio = *rc::gen::element(1.0, 2.0, 50.0, 1e6);
  spec.seed = *rc::gen::inRange<std::int64_t>(0, 1'000'000);
  return spec;
}

// Classes in any order, and row indices in any order, as in a file.
TrainingLabels any_labels(std::int64_t samples, std::int64_t classes) {
  TrainingLabels labels;
  labels.classes = *rc::gen::container<std::vector<std::int32_t>>(
      static_cast<std::size_t>(samples), rc::gen::inRange(0, static_cast<int>(classes)));
  labels.rows.resize(labels.classes.size());
  std::iota(labels.rows.begin(), labels.rows.end(), std::int64_t{0});
  if (*rc::gen::arbitrary<bool>()) std::reverse(labels.rows.begin(), labels.rows.end());
  return labels;
}

// Over kinds that own, ranks, sizes and seeds; iid is shown in sampler_test.cpp.
RC_GTEST_PROP(Shards, use_every_index_exactly_once_per_epoch_on_its_owner, ()) {
  const auto ranks = *rc::gen::inRange<std::int64_t>(1, 10),
             samples = *rc::gen::inRange<std::int64_t>(ranks, 300);
  const auto classes = *rc::gen::inRange<std::int64_t>(2, 12),
             batch = *rc::gen::inRange<std::int64_t>(1, 30);
  const ShardingSpec spec = any_owning_spec();
  const TrainingLabels labels = any_labels(samples, classes);
  const ShardTable table = count_shards(spec, labels, classes, ranks);
  const auto owned_by = owners(spec, table, labels).value();
  Sampler sampler(*rc::gen::inRange<std::int64_t>(0, 1000),
                  Shares::owned(samples_by_rank(table), batch), owned_by);
  const std::int64_t steps = sampler.shares().steps_per_epoch(),
                     epoch = *rc::gen::inRange<std::int64_t>(0, 3);
  std::vector<int> used(static_cast<std::size_t>(samples));
  for (std::int64_t step = 0; step < steps; ++step)
    for (std::int64_t rank = 0; rank < ranks; ++rank)
      for (const std::int64_t index : of_rank(sampler, epoch * steps + step, rank)) {
        ++used[static_cast<std::size_t>(index)];
        RC_ASSERT(owned_by[static_cast<std::size_t>(index)] == rank);
      }
  RC_ASSERT(std::count(used.begin(), used.end(), 1) == samples);
}

RC_GTEST_PROP(Shards, table_counts_the_samples_of_the_owners, ()) {
  const auto ranks = *rc::gen::inRange<std::int64_t>(1, 10),
             samples = *rc::gen::inRange<std::int64_t>(1, 300), classes = std::int64_t{5};
  const ShardingSpec spec = any_owning_spec();
  const TrainingLabels labels = any_labels(samples, classes);
  const ShardTable table = count_shards(spec, labels, classes, ranks);
  const auto owned_by = owners(spec, table, labels).value();
  ShardTable counted(static_cast<std::size_t>(ranks),
                     SampleIndices(static_cast<std::size_t>(classes)));
  for (std::size_t i = 0; i < owned_by.size(); ++i)
    ++counted[static_cast<std::size_t>(owned_by[i])][static_cast<std::size_t>(labels.classes[i])];
  RC_ASSERT(counted == table);
}

TEST(Shards, that_are_contiguous_are_blocks_of_the_file) {
  TrainingLabels labels = labels_of(10, 2);
  labels.rows = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
  const ShardingSpec spec = spec_of(ShardingKind::contiguous);
  const ShardTable table = count_shards(spec, labels, 2, 3);
  EXPECT_THAT(samples_by_rank(table), ElementsAre(4, 3, 3));
  EXPECT_THAT(owners(spec, table, labels).value(), ElementsAre(2, 2, 2, 1, 1, 1, 0, 0, 0, 0));
}

TEST(Shards, of_a_file_sorted_by_class_have_one_class_each) {
  TrainingLabels labels = labels_of(40, 4);
  labels.rows.resize(40);
  for (std::int64_t i = 0; i < 40; ++i)
    labels.rows[static_cast<std::size_t>(i)] =
        i % 4 * 10 + i / 4;  // shuffled by reading, sorted on disk
  EXPECT_THAT(count_shards(spec_of(ShardingKind::contiguous), labels, 4, 4),
              ElementsAre(ElementsAre(10, 0, 0, 0), ElementsAre(0, 10, 0, 0),
                          ElementsAre(0, 0, 10, 0), ElementsAre(0, 0, 0, 10)));
}

TEST(Shards, of_skewed_size_decrease_by_equal_factors) {
  ShardingSpec spec = spec_of(ShardingKind::size_skew);
  spec.size_ratio = 8;
  EXPECT_THAT(samples_by_rank(count_shards(spec, labels_of(1500, 10), 10, 4)),
              ElementsAre(800, 400, 200, 100));
  spec.size_ratio = 1;
  EXPECT_THAT(samples_by_rank(count_shards(spec, labels_of(1500, 10), 10, 4)), Each(375));
  EXPECT_THAT(samples_by_rank(count_shards(spec, labels_of(1500, 10), 10, 1)), ElementsAre(1500));
}

// The largest part of a class that one rank holds, over all classes.
double mean_largest_part(double alpha) {
  ShardingSpec spec = spec_of(ShardingKind::label_skew);
  spec.alpha = alpha;
  const ShardTable table = count_shards(spec, labels_of(10'000, 10), 10, 5);
  double sum = 0;
  for (std::size_t label = 0; label < 10; ++label) {
    std::int64_t largest = 0;
    for (const auto& of_rank : table) largest = std::max(largest, of_rank[label]);
    sum += static_cast<double>(largest) / 1000;
  }
  return sum / 10;
}

TEST(Shards, with_a_small_alpha_concentrate_classes_and_with_a_large_one_spread_them) {
  EXPECT_GT(mean_largest_part(0.01), 0.9);
  EXPECT_LT(mean_largest_part(1000), 0.25);  // a fifth, and little more
  EXPECT_GT(mean_largest_part(0.5), mean_largest_part(10));
}

TEST(Shards, depend_on_the_seed) {
  ShardingSpec spec = spec_of(ShardingKind::label_skew), other = spec;
  other.seed = 2;
  const TrainingLabels labels = labels_of(1000, 10);
  EXPECT_EQ(count_shards(spec, labels, 10, 4), count_shards(spec, labels, 10, 4));
  EXPECT_NE(count_shards(spec, labels, 10, 4), count_shards(other, labels, 10, 4));
}

TEST(Shards, with_iid_count_the_assignment_of_the_first_epoch) {
  const TrainingLabels labels = labels_of(1003, 10);
  const ShardTable table = count_first_epoch(5, 32, labels, 10, 4);
  Sampler sampler(5, 1003, 32, 4);
  std::vector<std::int64_t> of_rank_two(10);
  for (std::int64_t step = 0; step < sampler.shares().steps_per_epoch(); ++step)
    for (const std::int64_t index : sampler.indices(step, 2))
      ++of_rank_two[static_cast<std::size_t>(index % 10)];
  EXPECT_EQ(table[2], of_rank_two);
  EXPECT_THAT(samples_by_rank(table), ElementsAre(251, 251, 251, 250));
}

TEST(Shards, refuse_other_samples_than_were_counted) {
  const TrainingLabels labels = labels_of(100, 4);
  for (const ShardingKind kind :
       {ShardingKind::contiguous, ShardingKind::label_skew, ShardingKind::size_skew}) {
    const ShardTable table = count_shards(spec_of(kind), labels, 4, 3);
    TrainingLabels changed = labels;
    changed.classes[7] = 2;
    const auto refused = owners(spec_of(kind), table, changed);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, base::ProblemCode::refused);
    EXPECT_EQ(refused.error().id, "data_changed");
    changed.classes[7] = 4;
    EXPECT_EQ(owners(spec_of(kind), table, changed).error().id, "data_changed");
  }
}

// The same classes in another order: only who would own them tells.
TEST(Shards, refuse_reordered_samples_if_the_order_matters) {
  const TrainingLabels labels = labels_of(100, 4);
  TrainingLabels sorted = labels;
  std::sort(sorted.classes.begin(), sorted.classes.end());
  const ShardingSpec spec = spec_of(ShardingKind::contiguous);
  EXPECT_EQ(owners(spec, count_shards(spec, labels, 4, 3), sorted).error().id, "data_changed");
}

}  // namespace
}  // namespace trainyard::data
