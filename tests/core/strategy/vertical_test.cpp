// SPDX-License-Identifier: GPL-3.0-or-later
// Vertical sharding as a plan: rows are exchanged twice a micro-step, in whole rows, on a lane of
// their own.
#include "core/experiment/vertical.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/collective/expand.h"
#include "core/experiment/sent_bytes.h"
#include "core/strategy/strategy.h"
#include "tests/core/strategy/experiments.h"
#include "tests/core/strategy/rank_plans.h"
#include "tests/core/strategy/tokens.h"

namespace trainyard::strategy {
namespace {

using experiment::StrategyKind;
using plan::OpKind;

experiment::Experiment vertical(int ranks) {
  auto e = small(ranks);
  e.strategy.bucket_bytes = 1e9;
  e.data.sharding.kind = data::ShardingKind::vertical;
  return e;
}

const plan::Op& op_of(const plan::RankPlan& rank, const std::string& program, OpKind kind,
                      int number = 0) {
  for (const plan::Op& op : program_of(rank, program).ops)
    if (op.kind == kind && number-- == 0) return op;
  throw std::out_of_range("no such op");
}

TEST(Vertical, reduces_the_first_layer_over_columns_and_gathers_before_backward) {
  const plan::RankPlan rank = rank_of(vertical(3), 1);
  EXPECT_EQ(on_lane(rank, "train", "compute"),
            "RATE PART.s0.m0 F.s0.m0 F.s1.m0 F.s2.m0 LOSS.m0 B.s2.m0 W.s2.m0 B.s1.m0 W.s1.m0 "
            "B.s0.m0 W.s0.m0 UPD.s2 UPD.s1 UPD.s0");
  EXPECT_EQ(on_lane(rank, "train", "comm.g0"), "AR.b0");
  EXPECT_EQ(on_lane(rank, "train", "comm.g1"), "RS.b1 AG.b2");
  EXPECT_EQ(on_lane(rank, "evaluate", "comm.g1"), "RS.b1");
}

// 7 columns: 3, 2 and 2; 24 rows of them, where iid sharding loads 8 whole rows.
TEST(Vertical, loads_local_columns_of_all_rows_and_local_labels) {
  const std::int64_t counts[] = {3, 2, 2}, firsts[] = {0, 3, 5};
  for (int r = 0; r < 3; ++r) {
    const plan::RankPlan rank = rank_of(vertical(3), r);
    const plan::Op& load = op_of(rank, "train", OpKind::load);
    EXPECT_EQ(load.columns, (plan::Columns{firsts[r], counts[r], 7}));
    EXPECT_EQ(load.writes.at(0).count, 24 * counts[r]);
    EXPECT_EQ(load.writes.at(1).count, 8) << "labels";
    EXPECT_EQ(op_of(rank, "train", OpKind::partial).columns, load.columns);
    EXPECT_EQ(op_of(rank, "train", OpKind::reduce_scatter).row, 6) << "outputs of the first layer";
  }
}

// 250 samples leave a tail of 10: 4, 3 and 3 rows of 6 numbers.
TEST(Vertical, continues_with_the_rows_of_iid_sharding) {
  auto iid = vertical(3);
  iid.data.sharding = {};
  for (int r = 0; r < 3; ++r)
    for (const char* program : {"train", "tail", "evaluate_tail"}) {
      const plan::RankPlan rank = rank_of(vertical(3), r), as = rank_of(iid, r);
      EXPECT_EQ(program_of(rank, program).samples, program_of(as, program).samples);
      EXPECT_EQ(op_of(rank, program, OpKind::forward).reads.front().count,
                6 * program_of(as, program).samples)
          << program;
    }
}

TEST(Vertical, does_not_delay_rows_for_gradients) {
  const plan::Plan plan = coarse_plan(resolved(vertical(3))).value();
  ASSERT_EQ(plan.groups.size(), 2u);
  EXPECT_EQ(plan.groups[0], plan.groups[1]);
  const plan::RankPlan rank = plan.rank_plan(0);
  for (const plan::Op& op : program_of(rank, "train").ops) {
    if (op.kind != OpKind::partial && op.group != 1) continue;
    for (const plan::Dependency& dependency : op.after)
      EXPECT_NE(rank.lanes[dependency.lane.index()].name, "comm.g0") << plan::token(op);
  }
}

TEST(Vertical, plan_of_one_rank_equals_one_device) {
  auto e = vertical(1), iid = e;
  iid.data.sharding = {};
  EXPECT_EQ(plan::to_text(make_plan(resolved(e)).value()),
            plan::to_text(make_plan(resolved(iid)).value()));
}

// A ring's member p sends all chunks but its own, then all but the next one's; directly it sends
// its own to all.
TEST(Vertical, bytes_equal_the_closed_formula) {
  for (const auto algorithm : {collective::Algorithm::ring, collective::Algorithm::direct}) {
    auto e = vertical(3), iid = e;
    iid.data.sharding = {};
    e.strategy.algorithm = iid.strategy.algorithm = algorithm;
    e.training.steps = iid.training.steps = 11;  // one epoch: ten steps of 8 rows a rank, one of 4,
                                                 // 3 and 3; then 53 held-out samples: 18, 18 and 17
    const auto sent = experiment::sent_bytes(resolved(e)).value(),
               gradients = experiment::sent_bytes(resolved(iid)).value();
    const std::int64_t row = 6 * 4, full = 24 * row, own[] = {8 * row, 8 * row, 8 * row},
                       of_tail[] = {4 * row, 3 * row, 3 * row};
    const std::int64_t held_out[] = {18 * row, 18 * row, 17 * row};
    for (std::size_t p = 0; p < 3; ++p) {
      const bool ring = algorithm == collective::Algorithm::ring;
      const auto gathered = [&](const std::int64_t* c, std::int64_t all) {
        return ring ? all - c[(p + 1) % 3] : 2 * c[p];
      };
      const std::int64_t training = 10 * (full - own[p] + gathered(own, full)) + 10 * row -
                                    of_tail[p] + gathered(of_tail, 10 * row);
      EXPECT_EQ(sent[p] - gradients[p], training + 53 * row - held_out[p])
          << "rank " << p << ", " << base::name_of(algorithm);
    }
  }
}

// A plan sends per step the bytes of the formula.
TEST(Vertical, plan_sends_the_bytes_of_the_formula) {
  for (const int ranks : {2, 3, 5}) {
    auto e = vertical(ranks);
    e.data.held_out_samples = 0;
    e.training.steps = 1;
    const auto sent = experiment::sent_bytes(resolved(e)).value();
    const plan::Plan plan = make_plan(resolved(e)).value();
    for (int r = 0; r < ranks; ++r) {
      const plan::RankPlan rank = plan.rank_plan(r);
      EXPECT_EQ(collective::sent_bytes(rank, program_of(rank, "train")),
                sent[static_cast<std::size_t>(r)]);
    }
  }
}

}  // namespace
}  // namespace trainyard::strategy
