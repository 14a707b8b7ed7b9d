// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/spans/span_store.h"

#include <gtest/gtest.h>

#include "tests/ui/recorded_ops.h"
#include "ui/model/spans/step_times.h"

namespace trainyard::ui {
namespace {

using namespace test;

TEST(OpNames, have_tokens_lanes_and_kinds_of_the_recorded_plan) {
  const auto names = names_from_plan(planned(3));
  ASSERT_TRUE(names) << base::to_string(names.error());
  EXPECT_EQ(names->lanes, (std::vector<std::string>{"unnamed", "input", "compute", "send.g0",
                                                    "recv.g0", "buckets.g0"}));
  EXPECT_EQ(names->shown, (std::vector<int>{0, 1, 2, 5, 3, 4}))
      << "collectives are above their chunks";
  EXPECT_EQ(names->programs.at(0).name, "train");
  const NamedOp* send = names->find(0, kSend);
  ASSERT_TRUE(send);
  EXPECT_EQ(send->token, "SEND.b0.t0.c0>r0");
  EXPECT_EQ(send->kind, SpanKind::send);
  EXPECT_EQ(send->lane, 3);
  EXPECT_EQ(names->token(0, 99), "op 0.99") << "an op without a plan is named by its numbers";
  EXPECT_EQ(names->token(7, 1), "op 7.1");
}

TEST(OpNames, report_an_unreadable_plan) {
  EXPECT_FALSE(names_from_plan("rank 0\nnonsense\n"));
  EXPECT_FALSE(names_from_plan("rank 4\npair 4 with seed 1\n")) << "a pair without a partner";
}

TEST(OpNames, engine_collective_is_neither_sent_nor_received) {
  EXPECT_EQ(kind_of(plan::OpKind::all_reduce), SpanKind::collective);
  EXPECT_EQ(kind_of(plan::OpKind::broadcast), SpanKind::collective);
  EXPECT_EQ(kind_of(plan::OpKind::recv_reduce), SpanKind::receive);
  EXPECT_EQ(kind_of(plan::OpKind::norm), SpanKind::other);
  EXPECT_TRUE(communicates(SpanKind::collective));
  EXPECT_FALSE(computes(SpanKind::collective));
  for (const plan::OpKind kind : {plan::OpKind::offload, plan::OpKind::fetch})
    EXPECT_EQ(kind_of(kind), SpanKind::offload);
  EXPECT_FALSE(computes(SpanKind::offload) || communicates(SpanKind::offload));
}

TEST(OpNames, workers_and_servers_send_and_receive) {
  for (const plan::OpKind kind : {plan::OpKind::push, plan::OpKind::give})
    EXPECT_EQ(kind_of(kind), SpanKind::send);
  for (const plan::OpKind kind : {plan::OpKind::turn, plan::OpKind::pull, plan::OpKind::take})
    EXPECT_EQ(kind_of(kind), SpanKind::receive);
  EXPECT_EQ(kind_of(plan::OpKind::rows), SpanKind::input);
  EXPECT_EQ(kind_of(plan::OpKind::pack), SpanKind::other);
}

TEST(OpNames, gossip_between_two_ranks_is_not_a_collective) {
  const auto names = names_from_plan(
      "rank 4\npair 4 with 1 3 seed 1\nlane compute compute\nlane send.g0 send g0\nlane recv.g0 "
      "recv g0\nbuffer params fp32 4 shared\nbuffer mixed fp32 4\n"
      "program train samples 1 of 2\nOFFER @send.g0 group g0 reads params\nAGREE @recv.g0 group g0 "
      "writes mixed\n");
  ASSERT_TRUE(names) << base::to_string(names.error());
  EXPECT_EQ(names->lanes, (std::vector<std::string>{"unnamed", "compute", "send.g0", "recv.g0"}));
  EXPECT_EQ(names->find(0, 0)->kind, SpanKind::send);
  EXPECT_EQ(names->find(0, 1)->kind, SpanKind::receive);
  EXPECT_EQ(kind_of(plan::OpKind::answer), SpanKind::receive);
}

TEST(SpanStore, stores_ops_by_rank_and_lane_in_nanoseconds) {
  RecordedOps ops(2);
  ops.add(1, {{kReduce, 100, 175, 200, 4, 512}, ran(kForward, 30, 70, 4)});
  const SpanLane& receives = ops.store().lane(1, 4);
  ASSERT_EQ(receives.size(), 1u);
  const OpSpan& span = (*receives.tracks()[0])[0];
  EXPECT_EQ(span.begin, 100);
  EXPECT_EQ(span.ready, 175);
  EXPECT_EQ(span.end, 200);
  EXPECT_EQ(span.step, 4);
  EXPECT_EQ(span.bytes, 512);
  EXPECT_EQ(span.kind, SpanKind::receive);
  EXPECT_EQ(ops.store().lane(1, 2).size(), 1u);
  EXPECT_TRUE(ops.store().lane(0, 2).empty());
  EXPECT_EQ(ops.store().extent(), (TimeRange{30, 200}));
  EXPECT_EQ(ops.store().taken(), 2u);
}

TEST(SpanStore, separates_delay_of_an_op_from_its_work) {
  RecordedOps ops;
  ops.add(0, {ran(kForward, 0, 100)});
  EXPECT_FALSE(ops.store().held_back());
  ops.add(0, {{kBackward, 100, 100, 500, 0, 0, 300}, {kUpdate, 500, 500, 600, 0, 0, 4000}});
  EXPECT_TRUE(ops.store().held_back());
  const SpanTrack& computed = *ops.store().lane(0, 2).tracks()[0];
  EXPECT_EQ(computed[1].done(), 200);
  EXPECT_EQ(computed[2].done(), 500) << "an op cannot end before it begins";
  EXPECT_EQ(computed.times_of(0, 3).held, 400);
  EXPECT_EQ(computed.times_of(0, 3).of(SpanKind::backward), 100);
}

TEST(SpanStore, concurrent_sends_are_on_separate_tracks) {
  RecordedOps ops;
  ops.add(0, {ran(kSend, 0, 50), ran(kSecondSend, 0, 60), ran(kThirdSend, 10, 70),
              ran(kSend, 70, 80, 1)});
  const SpanLane& sends = ops.store().lane(0, 3);
  ASSERT_EQ(sends.tracks().size(), 3u);
  EXPECT_EQ(sends.tracks()[0]->size(), 2u) << "later spans use the first track again";
  ASSERT_EQ(sends.joined().size(), 2u);
  EXPECT_EQ(sends.joined()[0].ops, 3u);
  EXPECT_EQ(sends.joined()[0].end, 70);
  EXPECT_EQ(sends.joined()[1].ops, 1u);
}

TEST(SpanStore, more_than_eight_concurrent_ops_are_joined_on_the_last_track) {
  RecordedOps ops;
  std::vector<Ran> together;
  for (int i = 0; i < 20; ++i) together.push_back(ran(kSend, i, 1000 + i));
  ops.add(0, together);
  const SpanLane& sends = ops.store().lane(0, 3);
  ASSERT_EQ(sends.tracks().size(), SpanLane::kTracks);
  EXPECT_EQ((*sends.tracks().back())[0].ops, 13u);
  EXPECT_EQ(sends.joined()[0].ops, 20u);
}

TEST(SpanStore, ops_without_a_plan_have_a_separate_lane) {
  RecordedOps ops(1);
  ops.plan(0, planned(0));
  ops.add(0, {{77, 1, 1, 5, 0, 0}});
  EXPECT_EQ(ops.store().lane(0, 0).size(), 1u);
  EXPECT_EQ(ops.store().names(0).token(0, 77), "op 0.77");
}

TEST(SpanStore, times_that_run_backwards_have_zero_length) {
  RecordedOps ops;
  ops.add(0, {{kReduce, 100, 50, 20, 0, 0}});
  const OpSpan& span = (*ops.store().lane(0, 4).tracks()[0])[0];
  EXPECT_EQ(span.begin, 100);
  EXPECT_EQ(span.ready, 100);
  EXPECT_EQ(span.end, 100);
}

TEST(SpanStore, drops_and_counts_the_oldest_of_a_rank) {
  RecordedOps ops(2);
  SpanStore small(400);  // 200 a rank
  for (int step = 0; step < 500; ++step)
    ops.add(0, {ran(kForward, 100 * step, 100 * step + 40, step),
                ran(kSend, 100 * step, 100 * step + 90, step)});
  ops.add(1, {ran(kForward, 0, 7)});
  small.read(ops.history());
  EXPECT_EQ(small.taken(), 1001u);
  const std::size_t held = small.lane(0, 2).size() + small.lane(0, 3).size();
  EXPECT_LE(held, 200u);
  EXPECT_GT(held, 150u);
  EXPECT_EQ(small.lacking(), 1000 - held);
  EXPECT_EQ((*small.lane(0, 2).tracks()[0])[small.lane(0, 2).tracks()[0]->end() - 1].step, 499)
      << "the newest spans are kept";
  EXPECT_EQ(small.lane(1, 2).size(), 1u) << "a rank below the limit keeps all spans";
}

TEST(SpanStore, reports_ops_that_the_history_dropped) {
  RecordedOps ops;
  const std::size_t many = telemetry::History::kept_ops * 5 / 4 + 1;
  std::vector<Ran> all;
  for (std::size_t i = 0; i < many; ++i)
    all.push_back(
        ran(kForward, static_cast<std::int64_t>(10 * i), static_cast<std::int64_t>(10 * i + 9)));
  ops.add(0, all);
  SpanStore late;
  late.read(ops.history());
  EXPECT_EQ(late.taken(), many);
  EXPECT_EQ(late.lacking(), ops.history().evicted_ops());
  EXPECT_GT(late.lacking(), 0u);
}

TEST(StepTimes, span_from_the_first_begin_to_the_last_end_over_ranks) {
  RecordedOps ops(2);
  ops.end_step(0, 0, 1000, 900);
  ops.end_step(1, 0, 1100, 1050);
  ops.end_step(0, 1, 2000, 950);
  StepTimes times;
  EXPECT_FALSE(times.read(ops.history()));
  ASSERT_EQ(times.steps().size(), 2u);
  EXPECT_EQ(times.find(0)->range, (TimeRange{50, 1100}));
  EXPECT_EQ(times.find(1)->range, (TimeRange{1050, 2000}));
  EXPECT_EQ(times.find(2), nullptr);
  EXPECT_EQ(times.first_ending_after(1099), 0u);
  EXPECT_EQ(times.first_ending_after(1100), 1u);
  EXPECT_EQ(times.first_ending_after(2000), 2u);
  EXPECT_EQ(step_of_rank(ops.history(), 1, 0), (TimeRange{50, 1100}));
  EXPECT_EQ(step_of_rank(ops.history(), 1, 1), std::nullopt) << "not reported by that rank";
}

TEST(StepTimes, within_steps_exclude_pace_delays_between_steps) {
  RecordedOps ops(1);
  ops.end_step(0, 0, 1000, 900);
  ops.end_step(0, 1, 1500, 500);  // immediately after the previous step
  ops.end_step(0, 2, 3000, 500);  // delayed by 1000 before it
  const auto within = [&](const TimeRange& range) {
    return clip_to_steps(ops.history(), 0, range);
  };
  EXPECT_EQ(within({0, 4000}), (std::vector<TimeRange>{{100, 1500}, {2500, 3000}}));
  EXPECT_EQ(within({200, 2600}), (std::vector<TimeRange>{{200, 1500}, {2500, 2600}}));
  EXPECT_EQ(within({1500, 2500}), std::vector<TimeRange>()) << "held";
  EXPECT_EQ(within({2600, 2700}), (std::vector<TimeRange>{{2600, 2700}})) << "within one";
  EXPECT_EQ(within({3000, 3000}), std::vector<TimeRange>());
  ops.end_step(0, 3, 3501, 500);  // begins 1 ns after the previous step, due to rounding
  EXPECT_EQ(within({2500, 4000}), (std::vector<TimeRange>{{2500, 3501}})) << "one range";
}

TEST(StepTimes, are_read_incrementally) {
  RecordedOps ops(1);
  for (int step = 0; step < 10; ++step) ops.end_step(0, step, 100 * (step + 1), 100);
  StepTimes times;
  EXPECT_TRUE(times.read(ops.history(), 6));
  EXPECT_EQ(times.steps().size(), 6u);
  EXPECT_FALSE(times.read(ops.history(), 6));
  EXPECT_EQ(times.steps().size(), 10u);
}

}  // namespace
}  // namespace trainyard::ui
