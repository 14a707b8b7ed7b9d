// SPDX-License-Identifier: GPL-3.0-or-later
// Real training with any sharding of samples: each sample is used once per epoch, by its rank, with
// equal weight.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/experiment/fields.h"
#include "tests/conformance/trained_in_process.h"

namespace trainyard::tests {
namespace {

using data::ShardingKind;

// Writes down which samples were asked for, in order.
class Watched : public data::Dataset {
 public:
  explicit Watched(std::shared_ptr<const data::Dataset> set) : set_(std::move(set)) {}
  const data::DataSummary& summary() const override { return set_->summary(); }
  void fill(data::Split split, std::span<const std::int64_t> indices, std::span<float> features,
            std::span<std::int32_t> labels) const override {
    if (split == data::Split::train) asked.insert(asked.end(), indices.begin(), indices.end());
    set_->fill(split, indices, features, labels);
  }
  mutable std::vector<std::int64_t>
      asked;  // by the one thread that prefetches, and read when it has ended

 private:
  std::shared_ptr<const data::Dataset> set_;
};

struct Trained {
  std::vector<RankOutcome> ranks;
  std::vector<std::shared_ptr<const Watched>> data;  // by rank
};

Trained trained_watched(const experiment::Resolved& resolved) {
  Trained all;
  all.data.resize(static_cast<std::size_t>(resolved.world()));
  all.ranks = train(resolved, compute::reference::make, in_process,
                    [&](int rank, std::shared_ptr<const data::Dataset> set) {
                      return all.data[static_cast<std::size_t>(rank)] =
                                 std::make_shared<const Watched>(std::move(set));
                    });
  return all;
}

struct ShardingCase {
  ShardingKind kind;
  int ranks;
};

void PrintTo(const ShardingCase& c, std::ostream* out) {
  *out << base::name_of(c.kind) << ", " << c.ranks << " ranks";
}

class Sharded : public testing::TestWithParam<ShardingCase> {
 protected:
  experiment::Experiment experiment() const {
    experiment::Experiment e = small(GetParam().ranks, 8 * GetParam().ranks);
    e.data.sharding.kind = GetParam().kind;
    e.data.sharding.alpha = 1;
    e.training.steps = 0;
    e.training.epochs = 4;
    return e;
  }
  experiment::Resolved resolved() const { return experiment::resolve(experiment(), ".").value(); }
};

TEST_P(Sharded, training_uses_every_sample_once_per_epoch) {
  const auto r = resolved();
  const auto all = trained_watched(r);
  std::vector<int> used(static_cast<std::size_t>(r.data.train_samples));
  for (const auto& data : all.data)
    for (const std::int64_t index : data->asked) ++used[static_cast<std::size_t>(index)];
  EXPECT_THAT(used, testing::Each(4));
}

class Owned : public Sharded {};

TEST_P(Owned, ranks_read_only_their_samples) {
  const auto r = resolved();
  const auto all = trained_watched(r);
  for (std::size_t rank = 0; rank < all.data.size(); ++rank) {
    const std::set<std::int64_t> distinct(all.data[rank]->asked.begin(),
                                          all.data[rank]->asked.end());
    EXPECT_EQ(std::ssize(distinct), data::samples_by_rank(r.shards)[rank]);
    std::vector<std::int64_t> classes(5);
    for (const std::int64_t index : distinct) ++classes[static_cast<std::size_t>(index % 5)];
    EXPECT_EQ(classes, r.shards[rank]);
  }
}

double mean_loss(const std::vector<RankOutcome>& ranks, std::int64_t first_step,
                 std::int64_t end_step) {
  double loss = 0, samples = 0;
  for (const RankOutcome& rank : ranks)
    for (const telemetry::Event& event : rank.events) {
      if (event.kind != telemetry::EventKind::metric || event.step < first_step ||
          event.step >= end_step)
        continue;
      if (event.subject == static_cast<std::uint16_t>(telemetry::Metric::loss_sum))
        loss += event.value;
      if (event.subject == static_cast<std::uint16_t>(telemetry::Metric::samples))
        samples += event.value;
    }
  return loss / samples;
}

TEST_P(Sharded, replicas_stay_bit_identical_and_the_loss_decreases) {
  const auto r = resolved();
  const auto ranks = trained_watched(r).ranks;
  for (const RankOutcome& rank : ranks) {
    ASSERT_EQ(rank.problem, base::Problem{});
    EXPECT_EQ(rank.parameters, ranks[0].parameters);
  }
  EXPECT_LT(mean_loss(ranks, 3 * r.steps_per_epoch, r.steps),
            0.7 * mean_loss(ranks, 0, r.steps_per_epoch));
}

// Gives one device, for a step, the samples of a list.
class Listed : public data::Dataset {
 public:
  Listed(std::shared_ptr<const data::Dataset> set, std::vector<std::int64_t> list)
      : set_(std::move(set)), list_(std::move(list)) {}
  const data::DataSummary& summary() const override { return set_->summary(); }
  void fill(data::Split split, std::span<const std::int64_t> indices, std::span<float> features,
            std::span<std::int32_t> labels) const override {
    set_->fill(split, std::span(list_).first(indices.size()), features, labels);
  }

 private:
  std::shared_ptr<const data::Dataset> set_;
  std::vector<std::int64_t> list_;
};

// In the first step every sample of the global batch, on any rank, has the same weight in the
// gradient, as on one device with the same samples.
TEST_P(Sharded, gradient_is_the_mean_over_the_samples_of_the_step) {
  experiment::Experiment e = experiment();
  e.training.steps = 1;
  e.data.held_out_samples = 0;  // an evaluation would reuse the memory of the gradients
  const auto r = experiment::resolve(e, ".").value();
  const auto ranks = trained_watched(r).ranks;
  data::Sampler sampler = experiment::sampler(r).value();
  std::vector<std::int64_t> taken;
  for (int rank = 0; rank < r.world(); ++rank) {
    const auto own = sampler.indices(0, rank);
    taken.insert(taken.end(), own.begin(), own.end());
  }
  ASSERT_EQ(std::ssize(taken), r.global_batch);
  const auto alone = train(experiment::on_one_device(r), compute::reference::make, in_process,
                           [&](int, std::shared_ptr<const data::Dataset> set) {
                             return std::make_shared<const Listed>(std::move(set), taken);
                           });
  ASSERT_EQ(alone[0].problem, base::Problem{});
  for (const RankOutcome& rank : ranks) {
    ASSERT_EQ(rank.problem, base::Problem{});
    EXPECT_LE(distance(rank.gradients, alone[0].gradients), 1e-12);
  }
}

const auto kOwned = testing::Values(
    ShardingCase{ShardingKind::contiguous, 1}, ShardingCase{ShardingKind::contiguous, 3},
    ShardingCase{ShardingKind::label_skew, 2}, ShardingCase{ShardingKind::label_skew, 5},
    ShardingCase{ShardingKind::size_skew, 3}, ShardingCase{ShardingKind::size_skew, 7});
INSTANTIATE_TEST_SUITE_P(Iid, Sharded, testing::Values(ShardingCase{ShardingKind::iid, 3}));
INSTANTIATE_TEST_SUITE_P(Kinds, Sharded, kOwned);
INSTANTIATE_TEST_SUITE_P(Kinds, Owned, kOwned);

}  // namespace
}  // namespace trainyard::tests
