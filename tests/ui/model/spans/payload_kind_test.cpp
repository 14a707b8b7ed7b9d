// SPDX-License-Identifier: GPL-3.0-or-later
// Payload kinds of messages according to plans, and their sizes according to recorded ops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "core/plan/text.h"
#include "tests/ui/recorded_ops.h"
#include "ui/model/spans/traffic_meter.h"

namespace trainyard::ui {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

plan::Plan golden(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(std::string(TRAINYARD_SOURCE_DIR) + "/tests/golden/" + name + ".plan")
              .rdbuf();
  return plan::parse(text.str()).value();
}

// Payloads of a program of all ranks, with sender and receiver.
std::set<std::string> payloads_of(const std::string& name, const std::string& program = "train") {
  const plan::Plan plan = golden(name);
  std::set<std::string> all;
  for (std::int32_t r = 0; r < plan.ranks; ++r) {
    const plan::RankPlan rank = plan.rank_plan(r);
    if (rank.program(program) < 0) continue;
    const plan::Program& run = rank.programs[static_cast<std::size_t>(rank.program(program))];
    for (const plan::Op& op : run.ops) {
      const OpPayload payload = payload_of(rank, run, op);
      if (payload.peer < 0) continue;
      const auto [from, to] =
          payload.arrives ? std::pair(payload.peer, r) : std::pair(r, payload.peer);
      all.insert(std::to_string(from) + ">" + std::to_string(to) + " " +
                 as_text(payload.payload).toStdString());
    }
  }
  return all;
}

TEST(PayloadKind, is_activations_forward_and_gradients_backward_in_a_pipeline) {
  EXPECT_THAT(payloads_of("pipeline_2_1f1b"),
              UnorderedElementsAre("0>1 activations", "1>0 gradients of activations"));
  EXPECT_THAT(payloads_of("pipeline_2_1f1b", "evaluate"), UnorderedElementsAre("0>1 activations"));
}

TEST(PayloadKind, is_gathered_parameters_and_reduce_scattered_gradients_in_fsdp) {
  EXPECT_THAT(
      payloads_of("fsdp_2_full"),
      UnorderedElementsAre("0>1 all-gathered parameters", "1>0 all-gathered parameters",
                           "0>1 reduce-scattered gradients", "1>0 reduce-scattered gradients",
                           "0>1 statistics", "1>0 statistics"));
}

TEST(PayloadKind, is_partial_sums_in_tensor_parallel_layers) {
  EXPECT_THAT(payloads_of("tensor_parallel_2"),
              UnorderedElementsAre("0>1 partial sums of outputs", "1>0 partial sums of outputs",
                                   "0>1 statistics", "1>0 statistics"));
}

TEST(PayloadKind, is_gradients_averaged_parameters_or_encodings_between_replicas) {
  EXPECT_THAT(payloads_of("mirrored_ring_3"),
              UnorderedElementsAre("0>1 all-reduced gradients", "1>2 all-reduced gradients",
                                   "2>0 all-reduced gradients"));
  EXPECT_THAT(payloads_of("mirrored_ring_2_weights"),
              UnorderedElementsAre("0>1 averaged parameters", "1>0 averaged parameters"));
  EXPECT_THAT(payloads_of("mirrored_ring_3_top_k"),
              UnorderedElementsAre("0>1 compressed gradients", "1>2 compressed gradients",
                                   "2>0 compressed gradients"));
}

// Counted at the worker, in both directions.
TEST(PayloadKind, is_gradients_parameters_and_row_indices_with_servers) {
  EXPECT_THAT(payloads_of("parameter_server_1x2_table"),
              UnorderedElementsAre("0>1 gradients", "0>2 gradients"));
  EXPECT_THAT(payloads_of("parameter_server_1x2_table", "turn"),
              testing::IsSupersetOf(
                  {"0>1 row indices", "0>2 row indices", "1>0 parameters", "2>0 parameters"}));
}

TEST(PayloadKind, is_samples_activations_and_gradients_with_remote_layers) {
  EXPECT_THAT(payloads_of("rpc_2x1_table_clip_tail"),
              testing::IsSupersetOf({"0>2 samples", "2>0 activations",
                                     "0>2 gradients of activations", "0>1 all-reduced gradients"}));
}

TEST(PayloadKind, is_known_for_every_message_of_every_golden_plan) {
  for (const auto& file :
       std::filesystem::directory_iterator(TRAINYARD_SOURCE_DIR "/tests/golden")) {
    if (file.path().extension() != ".plan") continue;
    const std::string name = file.path().stem();
    SCOPED_TRACE(name);
    const plan::Plan plan = golden(name);
    for (std::int32_t r = 0; r < plan.ranks; ++r) {
      const plan::RankPlan rank = plan.rank_plan(r);
      for (const plan::Program& program : rank.programs)
        for (const plan::Op& op : program.ops) {
          const OpPayload payload = payload_of(rank, program, op);
          EXPECT_TRUE((payload.peer < 0 && !payload.pairs) || payload.payload != PayloadKind::other)
              << plan::token(op);
          EXPECT_TRUE(op.kind != plan::OpKind::send || payload.peer >= 0) << plan::token(op);
        }
    }
  }
}

std::string sender(const std::string& peer) {
  return "rank 0\nlane send.g0 send g0\nbuffer act.s0 fp32 100 shared\nbuffer grads fp32 100 "
         "shared\nprogram train samples 8 of 16\n"
         "bucket BCAST.b0<r0 group g0 writes act.s0\nSEND.b0.t0.c0>r" +
         peer +
         " @send.g0 group g0 reads act.s0[0:100]\n"
         "SEND.b1.t0.c0>r" +
         peer + " @send.g0 group g0 reads grads[0:100]\n";
}

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(TrafficMeter, sums_bytes_of_a_time_range_by_payload_kind) {
  test::RecordedOps recorded(2);
  recorded.plan(0, sender("1"));
  recorded.add(0, {{0, 0, 0, kSecond / 2, 0, 400},
                   {1, 0, 0, kSecond / 2, 0, 70},
                   {0, kSecond, kSecond, 3 * kSecond / 2, 1, 400}});
  recorded.add(0, {{1, kSecond, kSecond, 3 * kSecond / 2, 1, 30},
                   {0, 2 * kSecond, 2 * kSecond, 4 * kSecond, 2, 400}});
  TrafficMeter meter;
  meter.read(recorded.history(), recorded.store());
  EXPECT_THAT(meter.sent(0, 1, 0, 5), ElementsAre(Pair(PayloadKind::activations, 1200),
                                                  Pair(PayloadKind::summed_gradients, 100)));
  EXPECT_THAT(meter.sent(0, 1, 1, 2), ElementsAre(Pair(PayloadKind::activations, 400),
                                                  Pair(PayloadKind::summed_gradients, 30)));
  EXPECT_THAT(meter.sent(0, 1, 2, 3), IsEmpty());
  EXPECT_THAT(meter.sent(1, 0, 0, 5), IsEmpty()) << "no op was recorded";
  meter.read(recorded.history(), recorded.store());
  EXPECT_THAT(meter.sent(0, 1, 1, 2), ElementsAre(Pair(PayloadKind::activations, 400),
                                                  Pair(PayloadKind::summed_gradients, 30)))
      << "an op was counted twice";
}

TEST(TrafficMeter, ignores_ops_without_a_plan) {
  test::RecordedOps recorded(2);
  recorded.plan(0, "no plan at all");
  recorded.add(0, {{0, 0, 0, kSecond, 0, 400}});
  TrafficMeter meter;
  meter.read(recorded.history(), recorded.store());
  EXPECT_THAT(meter.sent(0, 1, 0, 5), IsEmpty());
}

}  // namespace
}  // namespace trainyard::ui
