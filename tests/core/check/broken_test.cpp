// SPDX-License-Identifier: GPL-3.0-or-later
// Valid plans, each broken in one way: the proof that should fail does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/core/check/breaking.h"
#include "tests/problem_matchers.h"

namespace trainyard::check {
namespace {

using collective::Algorithm;
using plan::Dependency;
using plan::LaneKind;
using plan::Op;
using plan::OpKind;
using testing::Contains;
using testing::HasSubstr;

Victim small_coarse(int ranks, std::int64_t bucket_bytes = 150) {
  auto e = strategy::small(ranks);
  e.strategy.bucket_bytes = bucket_bytes;
  return Victim(strategy::coarse_plan(strategy::resolved(e)).value());
}
Victim small_expanded(int ranks, Algorithm algorithm) {
  return small_coarse(ranks).expanded(algorithm);
}

Algorithm ring_or_direct() { return *rc::gen::element(Algorithm::ring, Algorithm::direct); }

// Random op of a random rank that passes the test.
struct Chosen {
  std::size_t rank, op;
};
Chosen any_op(Victim& victim, const OpTest& test) {
  const auto rank = *rc::gen::inRange<std::size_t>(0, victim.ranks.size());
  return {rank, *rc::gen::elementOf(victim.find(rank, test))};
}

bool only(const ProofSet& found, const ProofSet& allowed) {
  return !found.empty() &&
         std::includes(allowed.begin(), allowed.end(), found.begin(), found.end());
}

RC_GTEST_PROP(Broken, lane_out_of_range_violates_structure, ()) {
  Victim victim = small_expanded(*rc::gen::inRange(2, 6), ring_or_direct());
  const Chosen c = any_op(victim, [](const Op&) { return true; });
  victim.train(c.rank)[c.op].lane = plan::LaneId(*rc::gen::element(-1, 4, 77));
  RC_ASSERT(failed(victim) == ProofSet{Proof::structure});
}

RC_GTEST_PROP(Broken, access_beyond_its_buffer_violates_structure, ()) {
  Victim victim = small_expanded(*rc::gen::inRange(2, 6), ring_or_direct());
  const Chosen c = any_op(victim, [](const Op& op) { return !op.writes.empty(); });
  victim.train(c.rank)[c.op].writes[0].count += 1'000'000;
  RC_ASSERT(failed(victim) == ProofSet{Proof::structure});
}

RC_GTEST_PROP(Broken, dependency_that_nothing_satisfies_violates_structure, ()) {
  Victim victim = small_expanded(*rc::gen::inRange(2, 6), ring_or_direct());
  const Chosen c = any_op(victim, [](const Op& op) { return !op.after.empty(); });
  victim.train(c.rank)[c.op].after[0].sequence = 10'000;
  RC_ASSERT(failed(victim) == ProofSet{Proof::structure});
}

RC_GTEST_PROP(Broken, order_of_two_sends_violates_matching, ()) {
  const Algorithm algorithm = ring_or_direct();
  Victim victim = small_expanded(*rc::gen::inRange(3, 7), algorithm);
  const Chosen c = any_op(victim, [](const Op& op) { return sends(op) && op.bucket == 1; });
  const std::int32_t peer = victim.train(c.rank)[c.op].peer;
  const auto line = victim.find(c.rank, [&](const Op& op) { return sends(op) && op.peer == peer; });
  const auto one = *rc::gen::inRange<std::size_t>(0, line.size() - 1);
  std::swap(victim.train(c.rank)[line[one]], victim.train(c.rank)[line[one + 1]]);
  const auto found = failed(victim);
  RC_ASSERT(only(found, {Proof::matching, Proof::deadlock}));
  RC_ASSERT(algorithm == Algorithm::direct || found.contains(Proof::matching));
}

RC_GTEST_PROP(Broken, send_to_the_wrong_peer_is_a_mismatch_or_a_deadlock, ()) {
  Victim victim = small_expanded(*rc::gen::inRange(3, 7), ring_or_direct());
  const Chosen c = any_op(victim, sends);
  Op& op = victim.train(c.rank)[c.op];
  const auto ranks = static_cast<std::int32_t>(victim.ranks.size());
  do op.peer = (op.peer + 1) % ranks;
  while (op.peer == static_cast<std::int32_t>(c.rank));
  const auto found = failed(victim);
  RC_ASSERT(only(found, {Proof::matching, Proof::deadlock}));
  RC_ASSERT(found.contains(Proof::deadlock));
}

RC_GTEST_PROP(Broken, receive_that_is_missing_is_a_mismatch_and_a_deadlock, ()) {
  Victim victim = small_expanded(*rc::gen::inRange(2, 7), ring_or_direct());
  const Chosen c = any_op(victim, receives);
  victim.remove(c.rank, c.op);
  RC_ASSERT(only(failed(victim), {Proof::order, Proof::matching, Proof::deadlock}));
}

RC_GTEST_PROP(Broken, reduction_done_twice_is_a_mismatch_or_a_deadlock, ()) {
  Victim victim = small_expanded(*rc::gen::inRange(2, 7), ring_or_direct());
  const Chosen c = any_op(victim, adds);
  victim.repeat(c.rank, c.op);
  const auto found = failed(victim);
  RC_ASSERT(only(found, {Proof::matching, Proof::deadlock}));
}

RC_GTEST_PROP(Broken, contribution_added_twice_violates_meaning, ()) {
  Victim victim = small_expanded(*rc::gen::inRange(2, 7), Algorithm::ring);
  const Chosen c = any_op(victim, [](const Op& op) { return adds(op); });
  const Op add = victim.train(c.rank)[c.op];
  const auto peer = static_cast<std::size_t>(add.peer);
  victim.repeat(c.rank, c.op);
  victim.repeat(peer, victim.first(peer, [&](const Op& op) {
    return op.kind == OpKind::send && op.bucket == add.bucket && op.round == add.round;
  }));
  RC_ASSERT(failed(victim).contains(Proof::meaning));
}

RC_GTEST_PROP(Broken, chunk_range_that_is_shifted_violates_meaning, ()) {
  Victim victim = small_expanded(*rc::gen::inRange(2, 7), ring_or_direct());
  const auto elements = victim.ranks[0].buffers[victim.ranks[0].buffer("grads").index()].elements;
  const int shift = *rc::gen::element(-1, 1);
  const Chosen c = any_op(victim, [&](const Op& op) {
    if (!receives(op)) return false;
    const plan::Access& span = op.writes[0];
    return span.first + shift >= 0 && span.first + span.count + shift <= elements;
  });
  Op& op = victim.train(c.rank)[c.op];
  op.writes[0].first += shift;
  if (!op.reads.empty()) op.reads[0].first += shift;
  const auto found = failed(victim);
  RC_ASSERT(only(found, {Proof::races, Proof::meaning}));
  RC_ASSERT(found.contains(Proof::meaning));
}

RC_GTEST_PROP(Broken, chunk_cut_short_at_one_end_violates_matching, ()) {
  Victim victim = small_expanded(*rc::gen::inRange(2, 7), ring_or_direct());
  const Chosen c = any_op(victim, sends);
  victim.train(c.rank)[c.op].reads[0].count -= 1;
  RC_ASSERT(failed(victim) == ProofSet{Proof::matching});
}

RC_GTEST_PROP(Broken, sum_replaced_instead_of_added_violates_meaning, ()) {
  Victim victim = small_expanded(*rc::gen::inRange(2, 7), Algorithm::ring);
  const Chosen c = any_op(victim, adds);
  Op& op = victim.train(c.rank)[c.op];
  op.kind = OpKind::recv;
  op.reads.clear();
  RC_ASSERT(failed(victim) == ProofSet{Proof::meaning});
}

RC_GTEST_PROP(Broken, order_of_buckets_on_one_rank_violates_order, ()) {
  Victim victim = small_coarse(*rc::gen::inRange(2, 6));
  const auto rank = *rc::gen::inRange<std::size_t>(0, victim.ranks.size());
  const auto reductions =
      victim.find(rank, [](const Op& op) { return op.kind == OpKind::all_reduce; });
  RC_ASSERT(reductions.size() >= 2u);
  const auto one = *rc::gen::inRange<std::size_t>(0, reductions.size() - 1);
  std::swap(victim.train(rank)[reductions[one]], victim.train(rank)[reductions[one + 1]]);
  const auto found = failed(victim);
  RC_ASSERT(found.contains(Proof::order) && found.contains(Proof::matching));
  const auto chunked = failed(victim.expanded(ring_or_direct()));
  RC_ASSERT(chunked.contains(Proof::order));
  RC_ASSERT(chunked.contains(Proof::matching));
}

RC_GTEST_PROP(Broken, bucket_that_no_rank_reduces_violates_meaning, ()) {
  Victim victim = small_coarse(*rc::gen::inRange(2, 6));
  const auto bucket = *rc::gen::inRange(0, 2);
  for (std::size_t rank = 0; rank < victim.ranks.size(); ++rank)
    victim.remove(rank, victim.first(rank, [&](const Op& op) {
      return op.kind == OpKind::all_reduce && op.bucket == bucket;
    }));
  RC_ASSERT(failed(victim).contains(Proof::meaning));
  RC_ASSERT(failed(victim.expanded(ring_or_direct())).contains(Proof::meaning));
}

TEST(Broken, group_that_reduces_nothing_violates_meaning) {
  Victim victim = small_coarse(2, 1'000'000);
  for (std::size_t rank = 0; rank < 2; ++rank)
    victim.remove(rank,
                  victim.first(rank, [](const Op& op) { return op.kind == OpKind::all_reduce; }));
  EXPECT_EQ(failed(victim), ProofSet{Proof::meaning});
}

// Forgets what an op waits for on one lane, in this step or an earlier one.
Report without(Victim victim, std::size_t rank, const OpTest& test, LaneKind lane, int steps_back) {
  Op& op = victim.train(rank)[victim.first(rank, test)];
  const auto forgotten = std::erase_if(op.after, [&](const Dependency& d) {
    return victim.ranks[rank].lanes[d.lane.index()].kind == lane && d.steps_back == steps_back;
  });
  EXPECT_EQ(forgotten, 1u);
  return examine(victim.plan());
}
void expect_race(const Report& report, const std::string& one, const std::string& other) {
  ASSERT_EQ(failed(report).count(Proof::races), 1u) << base::to_string(report.problems());
  EXPECT_THAT(report.findings[0].problem.where + " " + report.findings[0].problem.what,
              testing::AllOf(HasSubstr(one), HasSubstr(other)));
}

TEST(Broken, dependency_that_is_required_leaves_a_race_when_dropped) {
  const Victim ring = small_expanded(3, Algorithm::ring),
               direct = small_expanded(3, Algorithm::direct);
  expect_race(without(ring, 1, is("F.s0.m0"), LaneKind::input, 0), "F.s0.m0", "LOAD.m0");
  expect_race(without(ring, 0, is("LOAD.m0"), LaneKind::compute, 1), "LOAD.m0", "F.s0.m0");
  expect_race(without(ring, 2, is("SEND.b0.t0.c1>r0"), LaneKind::compute, 0), "SEND.b0.t0.c1>r0",
              "W.s2.m0");
  expect_race(without(ring, 2, is("SEND.b0.t1.c0>r0"), LaneKind::recv, 0), "SEND.b0.t1.c0>r0",
              "RED.b0.t0.c0<r1");
  expect_race(without(ring, 0, is("UPD.s2"), LaneKind::recv, 0), "UPD.s2", ".b0.");
  expect_race(without(ring, 0, is("W.s0.m0"), LaneKind::send, 1), "W.s0.m0", "SEND.b1");
  expect_race(without(direct, 1, is("UPD.s2"), LaneKind::recv, 0), "UPD.s2", ".b0.");
  expect_race(without(direct, 1, is("W.s0.m0"), LaneKind::send, 1), "W.s0.m0", "SEND.b1");
  expect_race(without(direct, 0, is("SEND.b0.t1.c0>r1"), LaneKind::recv, 0), "SEND.b0.t1.c0>r1",
              "SUM.b0.t0.c0");
}

TEST(Broken, write_while_a_peer_reads_is_a_race) {
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::direct}) {
    Victim victim = small_expanded(3, algorithm);
    Op& update = victim.op(1, "UPD.s2");  // waits for the receives of its bucket, not for the sends
    update.writes.push_back(update.reads[0]);
    expect_race(examine(victim.plan()), "UPD.s2", "SEND.b0");
  }
}

TEST(Broken, cycle_of_dependencies_is_a_deadlock_that_names_every_op) {
  Victim victim = small_coarse(2).expanded(Algorithm::ring);
  victim.op(0, "F.s0.m0")
      .after.push_back({victim.op(0, "RED.b0.t0.c0<r1").lane, Dependency::end, 0});
  const Report report = examine(victim.plan());
  ASSERT_EQ(failed(report), ProofSet{Proof::deadlock});
  const std::string what = report.findings[0].problem.what;

  for (const char* token : {"rank 0 F.s0.m0", "rank 0 RED.b0.t0.c0<r1", "rank 1 SEND.b0.t0.c0>r0"})
    EXPECT_THAT(what + report.findings[0].problem.where, HasSubstr(token));
}

TEST(Broken, plan_prints_its_grid_with_the_invalid_op_marked) {
  Victim victim = small_coarse(2, 1'000'000).expanded(Algorithm::ring);
  victim.remove(1, victim.first(1, is("RECV.b0.t1.c0<r0")));
  const base::Problems problems = check(victim.plan());
  ASSERT_FALSE(problems.empty());
  EXPECT_THAT(
      problems[0],
      testing::AllOf(base::IsProblem("proof_matching", "rank 1, program train, op RED.b0.t0.c1<r0"),
                     base::Reports("SEND.b0.t1.c0>r1"), base::Advises(">RED.b0.t0.c1<r0<"),
                     base::Advises("r0 send.g0")));
}

TEST(Broken, copy_of_other_elements_than_offloaded_violates_meaning) {
  for (const int shift : {-1, 1}) {
    Victim victim = small_coarse(3).expanded(Algorithm::all_to_all);
    Op& copy = victim.op(1, "COPY.b0.t1.c0");
    victim.ranks[1].buffers[copy.reads[0].buffer.index()].elements += 1;
    copy.reads[0].first += shift > 0 ? 1 : 0;
    if (shift < 0) victim.op(1, "SUM.b0.t0.c0").writes[0].first += 1;
    EXPECT_EQ(failed(victim), ProofSet{Proof::meaning}) << shift;
  }
}

TEST(Broken, findings_of_one_kind_are_limited_and_counted) {
  Victim victim = small_expanded(6, Algorithm::ring);
  std::size_t ops = 0;
  for (std::size_t rank = 0; rank < victim.ranks.size(); ++rank)
    for (Op& op : victim.train(rank)) op.lane = plan::LaneId(99), ++ops;
  const Report report = examine(victim.plan());
  EXPECT_EQ(report.findings.size(), 10u);
  EXPECT_THAT(report.findings.back().problem.what, HasSubstr(std::to_string(ops - 10)));
}

TEST(Broken, samples_that_do_not_add_up_violate_structure) {
  Victim victim = small_expanded(3, Algorithm::ring);
  victim.ranks[1].programs[0].samples -= 1;
  EXPECT_EQ(failed(victim), ProofSet{Proof::structure});
}

}  // namespace
}  // namespace trainyard::check
