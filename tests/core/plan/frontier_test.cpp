// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/frontier.h"

#include <gtest/gtest.h>

#include <thread>

#include "core/plan/text.h"

namespace trainyard::plan {
namespace {

const LaneId kInput{0}, kCompute{1}, kSend{2};

RankPlan parsed(const std::string& programs) {
  return parse(
             "plan 1\nschedule steps 9 full 9\ngroup g0: 0 1\nrank 0\nlane input input\nlane "
             "compute compute\nlane send.g0 send g0\nbuffer b fp32 10\n" +
             programs)
      .value()
      .rank_plan(0);
}

// Names what may start now on a lane, and the instance: "F.s0 0"; "-" for nothing.
std::string next(const RankPlan& plan, const Frontier& frontier, LaneId lane) {
  const auto ready = frontier.next(lane);
  if (!ready) return "-";
  return token(plan.programs[static_cast<std::size_t>(ready->program)]
                   .ops[static_cast<std::size_t>(ready->op)]) +
         " " + std::to_string(ready->instance);
}

Frontier::Ready start(Frontier& frontier, LaneId lane) {
  const auto ready = frontier.next(lane).value();
  frontier.start(lane);
  return ready;
}
void step(Frontier& frontier, LaneId lane) { frontier.finish(lane, start(frontier, lane)); }

TEST(Frontier, starts_ops_of_a_lane_one_after_the_other) {
  const RankPlan plan = parsed("program train samples 1 of 2\nF.s0 @compute\nF.s1 @compute\n");
  Frontier frontier(plan);
  EXPECT_EQ(next(plan, frontier, kCompute), "-");
  ASSERT_TRUE(frontier.admit(0, 7));
  EXPECT_EQ(next(plan, frontier, kCompute), "F.s0 0");
  EXPECT_EQ(next(plan, frontier, kCompute), "F.s0 0");  // asking changes nothing
  const auto ready = start(frontier, kCompute);
  EXPECT_EQ(ready.step, 7);
  EXPECT_EQ(next(plan, frontier, kCompute), "-");
  frontier.finish(kCompute, ready);
  EXPECT_EQ(next(plan, frontier, kCompute), "F.s1 0");
  EXPECT_FALSE(frontier.instance_complete(0));
  step(frontier, kCompute);
  EXPECT_TRUE(frontier.instance_complete(0));
  EXPECT_EQ(frontier.completed(kCompute), 2);
}

// Dependencies on the same lane come before the op; dependencies on other lanes must be complete.
// The next step does not take part.
TEST(Frontier, submits_ordered_ops_without_waiting) {
  const RankPlan plan = parsed(
      "program train samples 1 of 2\nLOAD.m0 @input\nF.s0 @compute\nF.s1 @compute after "
      "compute:1\nB.s1 @compute after input:1\n");
  Frontier frontier(plan);
  frontier.admit(0, 0), frontier.admit(0, 1);
  const auto number = [&]() -> int {
    const auto ready = frontier.next_in_order(kCompute);
    return ready ? ready->op : -1;
  };
  const auto given = [&] {
    const auto ready = frontier.next_in_order(kCompute).value();
    frontier.start(kCompute);
    return ready;
  };
  const auto first = given();
  EXPECT_EQ(next(plan, frontier, kCompute), "-") << "it is in progress";
  EXPECT_EQ(number(), 2);
  const auto second = given();
  EXPECT_EQ(number(), -1) << "there is no input yet";
  step(frontier, kInput);
  EXPECT_EQ(number(), 3);
  const auto third = given();
  EXPECT_EQ(frontier.completed(kCompute), 0);
  for (const auto& ready : {first, second}) frontier.finish(kCompute, ready);
  EXPECT_EQ(number(), -1) << "of the next step";
  frontier.finish(kCompute, third);
  EXPECT_EQ(next(plan, frontier, kCompute), "F.s0 1");
  EXPECT_EQ(number(), 1);
}

TEST(Frontier, op_waits_for_the_sequence_of_another_lane) {
  const RankPlan plan = parsed(
      "program train samples 1 of 2\nLOAD.m0 @input\nLOAD.m1 @input\nF.s0 @compute after "
      "input:2\n");
  Frontier frontier(plan);
  frontier.admit(0, 0);
  step(frontier, kInput);
  EXPECT_EQ(next(plan, frontier, kCompute), "-");
  step(frontier, kInput);
  EXPECT_EQ(next(plan, frontier, kCompute), "F.s0 0");
}

const char* kRounds =
    "program train samples 1 of 2\n"
    "SEND.b0.t0.c0>r1 @send.g0 group g0 reads b\nSEND.b0.t0.c1>r1 @send.g0 group g0 reads b\n"
    "SEND.b0.t1.c0>r1 @send.g0 group g0 reads b\nSEND.b1.t1.c0>r1 @send.g0 group g0 reads b\n"
    "F.s0 @compute after send.g0:1\nF.s1 @compute after send.g0:2\n";

TEST(Frontier, runs_ops_of_a_round_together_before_the_next_round) {
  const RankPlan plan = parsed(kRounds);
  Frontier frontier(plan);
  frontier.admit(0, 0);
  const auto first = start(frontier, kSend);
  ASSERT_EQ(next(plan, frontier, kSend), "SEND.b0.t0.c1>r1 0");
  const auto second = start(frontier, kSend);
  EXPECT_EQ(next(plan, frontier, kSend), "-");
  frontier.finish(kSend, second);  // out of order: nothing counts before the first is complete
  EXPECT_EQ(frontier.completed(kSend), 0);
  EXPECT_EQ(next(plan, frontier, kCompute), "-");
  frontier.finish(kSend, first);
  EXPECT_EQ(frontier.completed(kSend), 2);
  EXPECT_EQ(next(plan, frontier, kCompute), "F.s0 0");
  EXPECT_EQ(next(plan, frontier, kSend), "SEND.b0.t1.c0>r1 0");
}

TEST(Frontier, distinguishes_equal_rounds_of_two_buckets_or_instances) {
  const RankPlan plan = parsed(kRounds);
  Frontier frontier(plan);
  frontier.admit(0, 0);
  frontier.admit(0, 1);
  for (int i = 0; i < 2; ++i) step(frontier, kSend);
  const auto third = start(frontier, kSend);
  EXPECT_EQ(next(plan, frontier, kSend), "-");
  frontier.finish(kSend, third);
  const auto fourth = start(frontier, kSend);
  EXPECT_EQ(next(plan, frontier, kSend), "-");
  frontier.finish(kSend, fourth);
  EXPECT_EQ(next(plan, frontier, kSend), "SEND.b0.t0.c0>r1 1");
}

TEST(Frontier, completes_a_round_with_more_ops_than_it_can_track) {
  std::string text = "program train samples 1 of 2\n";
  for (int c = 0; c < 150; ++c)
    text += "SEND.b0.t0.c" + std::to_string(c) + ">r1 @send.g0 group g0 reads b\n";
  const RankPlan plan = parsed(text);
  Frontier frontier(plan);
  frontier.admit(0, 0);
  while (!frontier.instance_complete(0)) {
    std::vector<Frontier::Ready> together;
    while (frontier.next(kSend)) together.push_back(start(frontier, kSend));
    ASSERT_FALSE(together.empty());
    for (auto ready = together.rbegin(); ready != together.rend(); ++ready)
      frontier.finish(kSend, *ready);
  }
  EXPECT_EQ(frontier.completed(kSend), 150);
}

const char* kPipelined =
    "program train samples 1 of 2\nLOAD.m0 @input after compute:2@-1\nF.s0 @compute after "
    "input:1\nW.s0 @compute\nUPD.s0 @compute\n"
    "program evaluate samples 1 of 2\nLOAD.m0 @input after compute:end@-1\nF.s0 @compute after "
    "input:1\n";

TEST(Frontier, lane_runs_ahead_as_far_as_dependencies_on_earlier_steps_allow) {
  const RankPlan plan = parsed(kPipelined);
  Frontier frontier(plan);
  frontier.admit(0, 0);
  frontier.admit(0, 1);
  EXPECT_EQ(next(plan, frontier, kInput), "LOAD.m0 0");  // there is no instance before
  step(frontier, kInput);
  EXPECT_EQ(next(plan, frontier, kInput), "-");
  step(frontier, kCompute);
  EXPECT_EQ(next(plan, frontier, kInput), "-");
  step(frontier, kCompute);
  EXPECT_EQ(next(plan, frontier, kInput), "LOAD.m0 1");
  step(frontier, kInput);
  EXPECT_EQ(next(plan, frontier, kCompute), "UPD.s0 0");  // its own lane keeps its order
}

TEST(Frontier, counts_an_instance_with_fewer_ops_when_they_are_complete) {
  const RankPlan plan = parsed(kPipelined);
  Frontier frontier(plan);
  frontier.admit(1, 0);
  frontier.admit(0, 0);  // waits for compute:2@-1 of an evaluation, which has one op there
  step(frontier, kInput);
  EXPECT_EQ(next(plan, frontier, kInput), "-");
  step(frontier, kCompute);
  EXPECT_EQ(next(plan, frontier, kInput), "LOAD.m0 1");
}

TEST(Frontier, window_fills_and_drains) {
  const RankPlan plan = parsed(kPipelined);
  Frontier frontier(plan);
  int admitted = 0;
  while (frontier.admit(0, admitted)) ++admitted;
  EXPECT_GE(admitted, 2);
  EXPECT_LE(admitted, Frontier::window);
  for (int instance = 0; instance < 50; ++instance) {
    step(frontier, kInput);
    for (int i = 0; i < 3; ++i) step(frontier, kCompute);
    EXPECT_TRUE(frontier.instance_complete(instance));
    EXPECT_FALSE(frontier.next(kSend).has_value());  // a lane without ops is moved on by asking
    EXPECT_EQ(next(plan, frontier, kInput), "LOAD.m0 " + std::to_string(instance + 1));
    EXPECT_EQ(next(plan, frontier, kCompute), "-");
    if (frontier.admit(0, admitted)) ++admitted;
  }
  EXPECT_GE(admitted, 50);
}

TEST(Frontier, lane_without_ops_for_many_instances_does_not_block_others) {
  const RankPlan plan = parsed(
      std::string(kRounds) + "program evaluate samples 1 of 2\nF.s7 @compute after compute:0@-1\n");
  Frontier frontier(plan);
  frontier.admit(0, 0);
  for (int i = 0; i < 4; ++i) step(frontier, kSend);
  for (int i = 0; i < 2; ++i) step(frontier, kCompute);
  for (int i = 1; i <= 100; ++i) {
    ASSERT_TRUE(frontier.admit(1, 0)) << i;
    step(frontier, kCompute);
    EXPECT_FALSE(frontier.next(kSend) || frontier.next(kInput));
    ASSERT_TRUE(frontier.instance_complete(i));
  }
  ASSERT_TRUE(frontier.admit(0, 1));
  EXPECT_EQ(next(plan, frontier, kSend), "SEND.b0.t0.c0>r1 101");
}

// The furthest that a plan may look back (check refuses more): the window still moves.
TEST(Frontier, dependency_at_the_window_limit_does_not_block) {
  const RankPlan plan =
      parsed("program train samples 1 of 2\nLOAD.m0 @input after compute:1@-" +
             std::to_string(Frontier::window - 2) + "\nF.s0 @compute after input:1\n");
  Frontier frontier(plan);
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(frontier.admit(0, i)) << i;
    step(frontier, kInput);
    step(frontier, kCompute);
    EXPECT_FALSE(frontier.next(kSend).has_value());
  }
}

// Every lane has its thread. What a lane wrote before it completed an op is seen by those that wait
// for it.
TEST(Frontier, keeps_the_order_of_lanes_on_separate_threads) {
  const RankPlan plan = parsed(
      "program train samples 1 of 2\nLOAD.m0 @input after compute:end@-1 send.g0:end@-1\nF.s0 "
      "@compute after input:1\n"
      "SEND.b0.t0.c0>r1 @send.g0 group g0 reads b after compute:1\nW.s0 @compute after "
      "send.g0:1\n");
  constexpr int kInstances = 3000;
  Frontier frontier(plan);
  std::int64_t value = 0;  // unguarded: the frontier's order is all that protects it
  const auto run = [&](LaneId lane, int ops) {
    for (int done = 0; done < ops;) {
      const auto ready = frontier.next(lane);
      if (!ready) {
        std::this_thread::yield();
        continue;
      }
      frontier.start(lane);
      ++value;
      frontier.finish(lane, *ready);
      ++done;
    }
    while (frontier.admitted() < kInstances) frontier.next(lane), std::this_thread::yield();
  };
  std::thread input(run, kInput, kInstances), compute(run, kCompute, 2 * kInstances),
      send(run, kSend, kInstances);
  for (int i = 0; i < kInstances;) frontier.admit(0, i) ? void(++i) : std::this_thread::yield();
  input.join();
  compute.join();
  send.join();
  EXPECT_EQ(value, 4 * kInstances);
}

}  // namespace
}  // namespace trainyard::plan
