// SPDX-License-Identifier: GPL-3.0-or-later
// Dependencies of a coarse plan after expansion, as text.
#include "core/collective/expand.h"

#include <gtest/gtest.h>

#include "tests/core/collective/one_bucket.h"

namespace trainyard::collective {
namespace {

// Two buckets of 4 elements; `ops` follow the two all-reduces.
plan::RankPlan expanded(const std::string& ops, Algorithm algorithm = Algorithm::ring) {
  std::string text = "plan 1\nschedule steps 9 full 9\ngroup g0: 0 1\n";
  for (int rank = 0; rank < 2; ++rank)
    text += "rank " + std::to_string(rank) +
            "\nlane compute compute\nlane comm.g0 comm g0\nbuffer grads fp32 8 shared\nbuffer out "
            "fp32 8\nprogram train samples 1 of 2\n"
            "W.s1 @compute writes grads[4:8]\nW.s0 @compute writes grads[0:4]\n"
            "AR.b0 @comm.g0 group g0 reads grads[4:8] writes grads[4:8] after compute:1\n"
            "AR.b1 @comm.g0 group g0 reads grads[0:4] writes grads[0:4] after compute:2\n" +
            ops;
  return expand(plan::parse(text).value(), algorithm).rank_plan(0);
}

// The line of an op, without what it reads and writes.
std::string order_of(const plan::RankPlan& rank, const std::string& token) {
  const std::string text = plan::to_text(rank);
  const std::size_t start = text.find("\n" + token + " ") + 1;
  const std::string line = text.substr(start, text.find('\n', start) - start);
  const std::size_t after = line.find(" after ");
  return after == std::string::npos ? "" : line.substr(after + 7);
}

TEST(Expand, splits_a_comm_lane_into_a_send_and_a_receive_lane) {
  const plan::RankPlan rank = expanded("");
  ASSERT_EQ(rank.lanes.size(), 3u);
  EXPECT_EQ(rank.lanes[1], (plan::Lane{"send.g0", plan::LaneKind::send, 0}));
  EXPECT_EQ(rank.lanes[2], (plan::Lane{"recv.g0", plan::LaneKind::recv, 0}));
}

TEST(Expand, first_op_of_a_chunk_inherits_the_dependencies_of_the_all_reduce) {
  const plan::RankPlan rank = expanded("");
  EXPECT_EQ(order_of(rank, "SEND.b0.t0.c1>r1"), "compute:1");
  EXPECT_EQ(order_of(rank, "RED.b0.t0.c0<r1"), "compute:1");
  EXPECT_EQ(order_of(rank, "SEND.b1.t0.c1>r1"), "compute:2");
}

TEST(Expand, later_op_of_a_chunk_waits_for_conflicting_ops) {
  const plan::RankPlan rank = expanded("");
  EXPECT_EQ(order_of(rank, "SEND.b0.t1.c0>r1"), "recv.g0:1");  // sends what was summed
  EXPECT_EQ(order_of(rank, "RECV.b0.t1.c1<r1"), "send.g0:1");  // overwrites what the peer reads
  const plan::RankPlan direct = expanded("", Algorithm::direct);
  EXPECT_EQ(order_of(direct, "SEND.b0.t1.c0>r1"), "recv.g0:1");
  EXPECT_EQ(order_of(direct, "RECV.b0.t1.c1<r1"), "send.g0:1");
}

TEST(Expand, readers_wait_for_receives_and_not_for_sends) {
  const plan::RankPlan rank = expanded(
      "UPD.s1 @compute reads grads[4:8] writes out[4:8] after comm.g0:1\nUPD.s0 @compute reads "
      "grads[0:4] writes out[0:4] after comm.g0:2\n");
  EXPECT_EQ(order_of(rank, "UPD.s1"), "recv.g0:2");
  EXPECT_EQ(order_of(rank, "UPD.s0"), "recv.g0:4");
}

TEST(Expand, writers_also_wait_for_sends) {
  EXPECT_EQ(order_of(expanded("UPD.s1 @compute writes grads[4:8] after comm.g0:1\n"), "UPD.s1"),
            "recv.g0:2 send.g0:2");
  EXPECT_EQ(
      order_of(expanded("ZERO.s1 @compute writes grads[4:8] after comm.g0:1@-1\n"), "ZERO.s1"),
      "recv.g0:2@-1 send.g0:2@-1");
  EXPECT_EQ(order_of(expanded("ZERO.s1 @compute writes grads after comm.g0:end\n"), "ZERO.s1"),
            "recv.g0:end send.g0:end");
}

TEST(Expand, keeps_the_bytes_in_the_send_ops) {
  const plan::RankPlan rank = expanded("");
  EXPECT_EQ(sent_bytes(rank, rank.programs[0]), 2 * (2 * 16 - 8 - 8));
}

TEST(Expand, removes_an_all_reduce_of_one_member) {
  const plan::RankPlan rank = one_bucket_expanded(Algorithm::ring, 1, 10).rank_plan(0);
  ASSERT_EQ(rank.programs[0].ops.size(), 2u);
  EXPECT_EQ(rank.programs[0].ops[0].kind, plan::OpKind::backward_weight);
}

}  // namespace
}  // namespace trainyard::collective
