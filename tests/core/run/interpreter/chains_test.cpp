// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/interpreter/chains.h"

#include <gmock/gmock.h>

namespace trainyard::run {
namespace {

using plan::Dependency;
using plan::LaneId;
using plan::OpKind;
using testing::ElementsAre;
using testing::IsEmpty;

const LaneId kInputLane{0}, kComputeLane{1}, kCommLane{2};

// A program of a rank with an input, a compute and a comm lane, op by op.
class Steps {
 public:
  Steps& add(OpKind kind, LaneId lane = kComputeLane, std::vector<Dependency> after = {}) {
    plan::Op op;
    op.kind = kind, op.lane = lane, op.after = std::move(after);
    program_.ops.push_back(op);
    BoundOp& bound = bound_.ops.emplace_back();
    bound.kind = kind, bound.lane = lane;
    return *this;
  }
  BoundOp& last() { return bound_.ops.back(); }

  // First and count of each.
  std::vector<std::pair<std::size_t, std::size_t>> chained(std::size_t most = 100) const {
    std::vector<std::pair<std::size_t, std::size_t>> all;
    for (const Links& links : links_of(program_, bound_, kComputeLane, most))
      all.emplace_back(links.first, links.count);
    return all;
  }

 private:
  plan::Program program_;
  BoundProgram bound_;
};

using Chained = std::pair<std::size_t, std::size_t>;

TEST(Chains, join_consecutive_ops_without_other_dependencies) {
  Steps step;
  step.add(OpKind::load, kInputLane)
      .add(OpKind::rate)
      .add(OpKind::forward, kComputeLane, {{kInputLane, 1, 0}})
      .add(OpKind::forward);
  step.add(OpKind::loss)
      .add(OpKind::backward_weight, kComputeLane, {{kComputeLane, 2, 0}})
      .add(OpKind::update, kComputeLane, {{kComputeLane, Dependency::end, 1}});
  EXPECT_THAT(step.chained(), ElementsAre(Chained{1, 5}))
      << "all but the rate, which the host writes";
}

TEST(Chains, end_at_a_dependency_on_another_lane) {
  Steps step;
  step.add(OpKind::forward)
      .add(OpKind::backward_weight)
      .add(OpKind::all_reduce, kCommLane, {{kComputeLane, 2, 0}});
  step.add(OpKind::backward_weight)
      .add(OpKind::update, kComputeLane, {{kCommLane, 1, 0}})
      .add(OpKind::update);
  EXPECT_THAT(step.chained(), ElementsAre(Chained{0, 3}, Chained{3, 2}));
}

TEST(Chains, have_at_most_one_loss_that_the_host_reads) {
  Steps step;
  for (int micro = 0; micro < 2; ++micro)
    step.add(OpKind::forward).add(OpKind::loss).add(OpKind::backward_weight);
  step.last().leaves_loss = true;
  EXPECT_THAT(step.chained(), ElementsAre(Chained{0, 4}))
      << "the second loss starts a segment, which another loss follows";
}

TEST(Chains, exclude_ops_that_the_host_packs) {
  Steps step;
  step.add(OpKind::forward).add(OpKind::forward).add(OpKind::rate);
  step.add(OpKind::backward_weight)
      .add(OpKind::pack)
      .add(OpKind::backward_weight)
      .add(OpKind::update);
  EXPECT_THAT(step.chained(), ElementsAre(Chained{0, 2}, Chained{5, 2}));
}

TEST(Chains, are_at_most_the_maximum_length_and_longer_than_one) {
  Steps step;
  for (int i = 0; i < 7; ++i) step.add(OpKind::forward);
  EXPECT_THAT(step.chained(3), ElementsAre(Chained{0, 3}, Chained{3, 3}));
  EXPECT_THAT(Steps().add(OpKind::forward).chained(), IsEmpty());
}

}  // namespace
}  // namespace trainyard::run
