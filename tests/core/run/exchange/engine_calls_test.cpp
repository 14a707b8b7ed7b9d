// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/exchange/engine_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trainyard::run {
namespace {

using comm::CollectiveCall;
using comm::CollectiveKind;
using plan::OpKind;
using testing::ElementsAre;

// Writes down what it is given.
class Engine final : public comm::Collectives {
 public:
  std::string name() const override { return "test"; }
  int rank() const override { return 0; }
  base::Result<void> start(int group, const CollectiveCall& call) override {
    given.emplace_back(group, call.kind, call.root, call.elements);
    ++pending[group];
    return {};
  }
  base::Result<std::uint64_t> completed(int group) override {
    if (ends && pending[group] > 0) --pending[group], ++complete[group];
    return complete[group];
  }
  bool wait(std::chrono::microseconds) override { return ends = true; }
  void wake() override {}
  void abort(const base::Problem&) override {}
  base::Result<void> state() const override { return {}; }

  std::vector<std::tuple<int, CollectiveKind, int, std::int64_t>> given;
  std::map<int, std::uint64_t> pending, complete;
  bool ends = false;  // what is under way, when it is asked for
};

BoundOp op(OpKind kind, int group, int root = 0, std::int64_t elements = 8) {
  BoundOp made;
  made.kind = kind, made.channel = group, made.root = root, made.elements = elements;
  return made;
}

// Two programs, of which the second has two calls that the first has not, and one that is none.
BoundPlan plan_with_calls() {
  BoundPlan plan;
  plan.programs.resize(2);
  auto& first = plan.programs[0].ops;
  first.push_back(op(OpKind::broadcast, 2, 1));
  first.push_back(op(OpKind::forward, 0));
  first.push_back(op(OpKind::all_reduce, 1));
  first.push_back(op(OpKind::broadcast, 2, 0));
  first.push_back(op(OpKind::broadcast, 2, 1));
  first.push_back(op(OpKind::all_reduce, 1));
  plan.programs[1].ops.push_back(op(OpKind::all_gather, 1));
  plan.programs[1].ops.push_back(op(OpKind::all_gather, 1, 0, 9));
  plan.programs[1].ops.push_back(op(OpKind::all_gather, 1, 0, 0));
  return plan;
}

const WarmUpCallbacks kGoesOn{[](int, int) {}, [](int, int) {},
                              [] { return base::Result<void>(); }};

TEST(EngineCalls, are_each_made_once_as_warm_up_in_group_order) {
  Engine engine;
  std::vector<std::pair<int, int>> begun, ended;
  const WarmUpCallbacks onlooker{[&](int program, int at) { begun.emplace_back(program, at); },
                                 [&](int program, int at) { ended.emplace_back(program, at); },
                                 kGoesOn.may_continue};
  ASSERT_TRUE(warm_up_engine(engine, plan_with_calls(), onlooker));
  EXPECT_THAT(engine.given, ElementsAre(std::tuple{1, CollectiveKind::all_reduce, 0, 8},
                                        std::tuple{1, CollectiveKind::all_gather, 0, 8},
                                        std::tuple{1, CollectiveKind::all_gather, 0, 9},
                                        std::tuple{2, CollectiveKind::broadcast, 0, 8},
                                        std::tuple{2, CollectiveKind::broadcast, 1, 8}));
  EXPECT_EQ(engine.complete[1], 3u);
  EXPECT_EQ(engine.complete[2], 2u);
  EXPECT_THAT(begun, ElementsAre(std::pair{0, 2}, std::pair{1, 0}, std::pair{1, 1}, std::pair{0, 3},
                                 std::pair{0, 0}));
  EXPECT_EQ(ended, begun);
}

TEST(EngineCalls, as_warm_up_end_when_the_rank_is_stopped) {
  Engine engine;
  WarmUpCallbacks stops = kGoesOn;
  stops.may_continue = [] {
    return base::Result<void>(base::fail(
        {"made_by_test", base::ProblemCode::canceled, "test", "a test stopped the run", "", ""}));
  };
  const auto made = warm_up_engine(engine, plan_with_calls(), stops);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().id, "made_by_test");
  EXPECT_EQ(engine.given.size(), 1u);
}

// Calls that were complete before the op started do not belong to the op.
TEST(EngineCalls, wait_for_their_dependencies_and_not_for_earlier_calls) {
  Engine engine;
  const BoundPlan plan = plan_with_calls();
  ASSERT_TRUE(warm_up_engine(engine, plan, kGoesOn));
  engine.ends = false;
  EngineCalls calls(engine);
  std::vector<Transfer> done;
  std::int64_t busy_ns = 0;
  calls.start(plan.programs[0].ops[2], {});
  ASSERT_TRUE(calls.poll(done, busy_ns));
  EXPECT_TRUE(done.empty());
  engine.ends = true;
  ASSERT_TRUE(calls.poll(done, busy_ns));
  EXPECT_EQ(done.size(), 1u);
}

TEST(EngineCalls, that_complete_immediately_are_detected) {
  Engine engine;
  const BoundPlan plan = plan_with_calls();
  ASSERT_TRUE(warm_up_engine(engine, plan, kGoesOn));
  EngineCalls calls(engine);
  std::vector<Transfer> done;
  std::int64_t busy_ns = 0;
  for (const std::size_t op : {2, 5}) calls.start(plan.programs[0].ops[op], {});
  for (int polls = 0; polls < 2; ++polls) ASSERT_TRUE(calls.poll(done, busy_ns));
  EXPECT_EQ(done.size(), 2u);
}

}  // namespace
}  // namespace trainyard::run
