// SPDX-License-Identifier: GPL-3.0-or-later
// Valid plans, each broken in one way: the proof that should fail does, and says what is wrong. Breaks at random places are in breaks.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/check/breaking.h"

namespace trainyard::check {
namespace {

using collective::Algorithm;
using plan::Dependency;
using plan::LaneKind;
using plan::Op;
using plan::OpKind;
using testing::HasSubstr;

using ProofSet = std::set<Proof>;

Victim coarse(int ranks, std::int64_t bucket_bytes = 150) {
  auto e = strategy::small(ranks);
  e.strategy.bucket_bytes = bucket_bytes;
  return Victim(strategy::coarse_plan(strategy::resolved(e)).value());
}
Victim expanded(int ranks, Algorithm algorithm) { return coarse(ranks).expanded(algorithm); }

TEST(Broken, a_group_that_sums_nothing_has_no_meaning) {
  Victim victim = coarse(2, 1'000'000);
  for (std::size_t rank = 0; rank < 2; ++rank) victim.remove(rank, victim.first(rank, [](const Op& op) { return op.kind == OpKind::all_reduce; }));
  EXPECT_EQ(failed(victim), ProofSet{Proof::meaning});
}

// Forgets what an op waits for on one lane, in this step or an earlier one.
Report without(Victim victim, std::size_t rank, const OpTest& test, LaneKind lane, int steps_back) {
  Op& op = victim.train(rank)[victim.first(rank, test)];
  const auto forgotten =
      std::erase_if(op.after, [&](const Dependency& d) { return victim.ranks[rank].lanes[d.lane.index()].kind == lane && d.steps_back == steps_back; });
  EXPECT_EQ(forgotten, 1u);
  return examine(victim.plan());
}
OpTest is(const std::string& token) {
  return [token](const Op& op) { return plan::token(op) == token; };
}
void expect_race(const Report& report, const std::string& one, const std::string& other) {
  ASSERT_EQ(failed(report).count(Proof::races), 1u) << base::to_string(report.problems());
  EXPECT_THAT(report.findings[0].problem.where + " " + report.findings[0].problem.what, testing::AllOf(HasSubstr(one), HasSubstr(other)));
}

TEST(Broken, a_dependency_that_matters_leaves_a_race_when_it_is_dropped) {
  const Victim ring = expanded(3, Algorithm::ring), direct = expanded(3, Algorithm::direct);
  expect_race(without(ring, 1, is("F.s0.m0"), LaneKind::input, 0), "F.s0.m0", "LOAD.m0");
  expect_race(without(ring, 0, is("LOAD.m0"), LaneKind::compute, 1), "LOAD.m0 of 1 step later", "F.s0.m0");
  expect_race(without(ring, 2, is("SEND.b0.t0.c1>r0"), LaneKind::compute, 0), "SEND.b0.t0.c1>r0", "W.s2.m0");
  expect_race(without(ring, 2, is("SEND.b0.t1.c0>r0"), LaneKind::recv, 0), "SEND.b0.t1.c0>r0", "RED.b0.t0.c0<r1");
  expect_race(without(ring, 0, is("UPD.s2"), LaneKind::recv, 0), "UPD.s2", "while");
  expect_race(without(ring, 0, is("W.s0.m0"), LaneKind::send, 1), "W.s0.m0", "SEND.b1");
  expect_race(without(direct, 1, is("UPD.s2"), LaneKind::recv, 0), "UPD.s2", "while");
  expect_race(without(direct, 1, is("W.s0.m0"), LaneKind::send, 1), "W.s0.m0", "SEND.b1");
  expect_race(without(direct, 0, is("SEND.b0.t1.c0>r1"), LaneKind::recv, 0), "SEND.b0.t1.c0>r1", "SUM.b0.t0.c0");
}

TEST(Broken, a_write_while_a_peer_reads_is_a_race) {
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::direct}) {
    Victim victim = expanded(3, algorithm);
    Op& update = victim.op(1, "UPD.s2");  // waits for the receives of its bucket, not for the sends
    update.writes.push_back(update.reads[0]);
    expect_race(examine(victim.plan()), "UPD.s2", "SEND.b0");
  }
}

TEST(Broken, a_circle_of_waiting_is_a_deadlock_that_names_every_op_on_it) {
  Victim victim = coarse(2).expanded(Algorithm::ring);
  victim.op(0, "F.s0.m0").after.push_back({victim.op(0, "RED.b0.t0.c0<r1").lane, Dependency::end, 0});
  const Report report = examine(victim.plan());
  ASSERT_EQ(failed(report), ProofSet{Proof::deadlock});
  const std::string what = report.findings[0].problem.what;
  EXPECT_THAT(what, HasSubstr("cycle"));
  for (const char* token : {"rank 0 F.s0.m0", "rank 0 RED.b0.t0.c0<r1", "rank 1 SEND.b0.t0.c0>r0"})
    EXPECT_THAT(what + report.findings[0].problem.where, HasSubstr(token));
}

TEST(Broken, a_plan_prints_its_grid_with_the_bad_cell_marked) {
  Victim victim = coarse(2, 1'000'000).expanded(Algorithm::ring);
  victim.remove(1, victim.first(1, is("RECV.b0.t1.c0<r0")));
  const base::Problems problems = check(victim.plan());
  ASSERT_FALSE(problems.empty());
  EXPECT_THAT(problems[0].what, HasSubstr("meets SEND.b0.t1.c0>r1"));
  EXPECT_THAT(problems[0].where, HasSubstr("rank 1, program train, op RED.b0.t0.c1<r0"));
  EXPECT_THAT(problems[0].advice, HasSubstr(">RED.b0.t0.c1<r0<"));
  EXPECT_THAT(problems[0].advice, HasSubstr("r0 send.g0"));
}

TEST(Broken, a_copy_that_takes_other_elements_than_were_put_aside_has_another_meaning) {
  for (const int shift : {-1, 1}) {
    Victim victim = coarse(3).expanded(Algorithm::all_to_all);
    Op& copy = victim.op(1, "COPY.b0.t1.c0");
    victim.ranks[1].buffers[copy.reads[0].buffer.index()].elements += 1;
    copy.reads[0].first += shift > 0 ? 1 : 0;
    if (shift < 0) victim.op(1, "SUM.b0.t0.c0").writes[0].first += 1;
    EXPECT_EQ(failed(victim), ProofSet{Proof::meaning}) << shift;
  }
}

TEST(Broken, many_findings_of_one_kind_are_counted_not_listed) {
  Victim victim = expanded(6, Algorithm::ring);
  for (std::size_t rank = 0; rank < victim.ranks.size(); ++rank)
    for (Op& op : victim.train(rank)) op.lane = plan::LaneId(99);
  const Report report = examine(victim.plan());
  EXPECT_EQ(report.findings.size(), 10u);
  EXPECT_THAT(report.findings.back().problem.what, HasSubstr("more of the kind"));
}

TEST(Broken, samples_that_do_not_add_up_are_bad_structure) {
  Victim victim = expanded(3, Algorithm::ring);
  victim.ranks[1].programs[0].samples -= 1;
  EXPECT_EQ(failed(victim), ProofSet{Proof::structure});
}

}  // namespace
}  // namespace trainyard::check
