// SPDX-License-Identifier: GPL-3.0-or-later
// Plans whose collectives an engine takes whole. Whether the engine is in the build is no matter of
// theirs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/plan/engine_lane.h"
#include "core/plan/text.h"
#include "core/strategy/strategy.h"
#include "tests/core/strategy/experiments.h"

namespace trainyard::strategy {
namespace {

using experiment::Engine;

experiment::Resolved by(Engine engine, int ranks,
                        experiment::StrategyKind kind = experiment::StrategyKind::mirrored) {
  auto e = small(ranks);
  e.strategy.kind = kind;
  auto r = resolved(e);
  r.document.strategy.engine = engine;
  return r;
}

TEST(EnginePlan, keeps_each_collective_on_a_lane_of_the_engine) {
  const plan::RankPlan rank = make_plan(by(Engine::gloo, 3)).value().rank_plan(1);
  EXPECT_EQ(plan::engine_of(rank), "gloo");
  const auto& lane = rank.lanes.back();
  EXPECT_EQ(lane.name, "gloo.g0");
  EXPECT_EQ(lane.kind, plan::LaneKind::comm);
  std::vector<std::string> tokens;
  for (const plan::Op& op : rank.programs[0].ops)
    if (plan::communicates(op.kind)) tokens.push_back(plan::token(op));
  EXPECT_THAT(tokens, testing::ElementsAre("AR.b0", "AR.b1"));
  for (const plan::Buffer& buffer : rank.buffers)
    EXPECT_FALSE(buffer.shared) << buffer.name << ": no peer reads in place";
}

TEST(EnginePlan, hash_depends_on_the_engine) {
  const std::string own = plan::hash(make_plan(by(Engine::own, 3)).value()),
                    gloo = plan::hash(make_plan(by(Engine::gloo, 3)).value());
  EXPECT_NE(own, gloo);
  EXPECT_NE(gloo, plan::hash(coarse_plan(by(Engine::gloo, 3)).value()));
  auto other = by(Engine::gloo, 3);
  other.document.strategy.algorithm = collective::Algorithm::star;
  other.document.strategy.segment_bytes = 64;
  EXPECT_EQ(gloo, plan::hash(make_plan(other).value()))
      << "settings of own collectives change nothing";
}

TEST(EnginePlan, parses_back) {
  const plan::Plan plan = make_plan(by(Engine::gloo, 3, experiment::StrategyKind::ddp)).value();
  const auto read = plan::parse(plan::to_text(plan));
  ASSERT_TRUE(read) << base::to_string(read.error());
  EXPECT_EQ(plan::to_text(*read), plan::to_text(plan));
  EXPECT_EQ(plan::engine_of(read->rank_plan(2)), "gloo");
}

TEST(EnginePlan, of_one_rank_equals_the_plan_without_an_engine) {
  EXPECT_EQ(plan::hash(make_plan(by(Engine::gloo, 1)).value()),
            plan::hash(make_plan(by(Engine::own, 1)).value()));
  EXPECT_EQ(plan::engine_of(make_plan(by(Engine::gloo, 1)).value().rank_plan(0)), "");
}

}  // namespace
}  // namespace trainyard::strategy
