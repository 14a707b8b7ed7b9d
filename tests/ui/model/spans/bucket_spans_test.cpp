// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/spans/bucket_spans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/ui/recorded_ops.h"
#include "ui/model/spans/bucket_pieces.h"

namespace trainyard::ui {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr int kBuckets =
    5;  // the lane of collectives, after the four of the plan and the unnamed one

OpSpan receive(Nanoseconds begin, Nanoseconds ready, Nanoseconds end, double bytes = 0) {
  OpSpan span;
  span.begin = begin, span.ready = ready, span.end = end, span.bytes = bytes,
  span.kind = SpanKind::receive;
  return span;
}
OpSpan send(Nanoseconds begin, Nanoseconds end, double bytes = 0) {
  OpSpan span = receive(begin, begin, end, bytes);
  span.kind = SpanKind::send;
  return span;
}

// Formats pieces as "w0-5 t5-9".
std::string format_pieces(const std::vector<OpSpan>& pieces) {
  std::string text;
  for (const OpSpan& piece : pieces) {
    if (piece.kind == SpanKind::send)
      text += "s" + std::to_string(piece.begin) + "-" + std::to_string(piece.end) + " ";
    if (piece.ready > piece.begin)
      text += "w" + std::to_string(piece.begin) + "-" + std::to_string(piece.ready) + " ";
    if (piece.kind == SpanKind::receive && piece.end > piece.ready)
      text += "t" + std::to_string(piece.ready) + "-" + std::to_string(piece.end) + " ";
  }
  return text;
}

TEST(BucketSpans, separate_waiting_transfer_and_sending) {
  EXPECT_EQ(
      format_pieces(pieces_of_bucket({send(0, 70), receive(0, 30, 40), receive(40, 60, 65)}, 0)),
      "w0-30 t30-40 w40-60 t60-65 s65-70 ");
  EXPECT_EQ(format_pieces(pieces_of_bucket({send(0, 20), send(5, 50)}, 0)), "s0-50 ")
      << "peers are unknown";
  EXPECT_EQ(format_pieces(
                pieces_of_bucket({receive(0, 0, 10), receive(5, 8, 20), receive(25, 25, 30)}, 0)),
            "t0-20 t25-30 ")
      << "no op ran in between";
  EXPECT_EQ(format_pieces(pieces_of_bucket({receive(0, 10, 20), receive(0, 40, 50)}, 0)),
            "w0-10 t10-20 w20-40 t40-50 ")
      << "one op transfers while the other waits";
  EXPECT_THAT(pieces_of_bucket({}, 0), IsEmpty());
  EXPECT_EQ(pieces_of_bucket({send(7, 7)}, 0).size(), 1u) << "a span of zero length is included";
}

TEST(BucketSpans, have_the_bytes_and_the_name_of_all_their_ops) {
  const auto pieces =
      pieces_of_bucket({send(0, 70, 100), receive(0, 30, 40, 20), receive(50, 60, 65, 3)}, 9);
  double bytes = 0;
  for (const OpSpan& piece : pieces) {
    bytes += piece.bytes;
    EXPECT_EQ(piece.op, 9);
  }
  EXPECT_EQ(bytes, 123);
}

// Evaluates every op at each time.
TEST(BucketSpans, match_a_brute_force_evaluation) {
  std::mt19937 random(3);
  const auto below = [&](int bound) {
    return static_cast<Nanoseconds>(random() % static_cast<unsigned>(bound));
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<OpSpan> ops;
    for (Nanoseconds i = below(8); i >= 0; --i) {
      const Nanoseconds begin = below(60), ready = begin + below(20), end = ready + below(20);
      ops.push_back(below(2) == 0 ? send(begin, end) : receive(begin, ready, end));
    }
    const auto pieces = pieces_of_bucket(ops, 0);
    for (Nanoseconds t = 0; t < 100; ++t) {
      bool moves = false, waits = false, sends = false;
      for (const OpSpan& op : ops) {
        const bool here = op.begin <= t && t < op.end;
        sends = sends || (here && op.kind == SpanKind::send);
        moves = moves || (here && op.kind == SpanKind::receive && t >= op.ready);
        waits = waits || (op.kind == SpanKind::receive && op.begin <= t && t < op.ready);
      }
      char expected = moves ? 't' : waits ? 'w' : sends ? 's' : '-', found = '-';
      for (const OpSpan& piece : pieces)
        if (piece.begin <= t && t < piece.end)
          found = piece.kind == SpanKind::send ? 's' : t < piece.ready ? 'w' : 't';
      ASSERT_EQ(found, expected) << "at " << t << " of round " << round << ": "
                                 << format_pieces(pieces);
    }
    for (std::size_t i = 1; i < pieces.size(); ++i)
      ASSERT_GE(pieces[i].begin, pieces[i - 1].end) << "pieces overlap";
  }
}

// Bucket of a handwritten plan, with one receive and three sends.
TEST(BucketSpans, are_stored_when_all_their_ops_are_recorded) {
  RecordedOps ops;
  ops.add(0, {ran(kForward, 0, 45, 3),
              {kSend, 10, 10, 30, 3, 64},
              {kReduce, 10, 40, 50, 3, 64},
              {kSecondSend, 50, 50, 60, 3, 64}});
  EXPECT_TRUE(ops.store().lane(0, kBuckets).empty());
  ops.add(0, {{kThirdSend, 55, 55, 75, 3, 64}});
  const SpanTrack& track = *ops.store().lane(0, kBuckets).tracks().at(0);
  const BucketSpan bucket = bucket_at(ops.store(), 0, track, track.first());
  EXPECT_EQ(bucket.range, (TimeRange{10, 75}));
  EXPECT_EQ(bucket.waiting, 30);
  EXPECT_EQ(bucket.transfer, 10);
  EXPECT_EQ(bucket.sending, 25);
  EXPECT_EQ(bucket.nothing, 0);
  EXPECT_EQ(bucket.computing, 35) << "from 10 to 45";
  EXPECT_EQ(bucket.bytes, 256);
  EXPECT_EQ(ops.store().names(0).bucket(0, track[track.first()].op)->token, "AR.b0");
}

TEST(BucketSpans, are_omitted_in_a_step_with_a_lost_event) {
  RecordedOps ops;
  ops.add(0, {ran(kSend, 10, 20, 3), ran(kReduce, 10, 30, 3), ran(kThirdSend, 30, 40, 3)});
  ops.add(0, {ran(kSend, 110, 120, 4), ran(kReduce, 110, 130, 4), ran(kSecondSend, 130, 140, 4),
              ran(kThirdSend, 130, 150, 4)});
  const SpanLane& lane = ops.store().lane(0, kBuckets);
  ASSERT_EQ(lane.tracks().size(), 1u);
  const BucketSpan bucket = bucket_at(ops.store(), 0, *lane.tracks()[0], 0);
  EXPECT_EQ(bucket.range, (TimeRange{110, 150}));
  EXPECT_EQ(bucket.end, lane.tracks()[0]->end());
}

TEST(BucketSpans, are_on_separate_tracks_if_they_overlap) {
  RecordedOps ops;
  const auto whole = [](std::int64_t at, int step) {
    return std::vector{ran(kSend, at, at + 20, step), Ran{kReduce, at, at + 10, at + 30, step, 0},
                       ran(kSecondSend, at + 30, at + 40, step),
                       ran(kThirdSend, at + 30, at + 50, step)};
  };
  ops.add(0, whole(0, 0)), ops.add(0, whole(50, 1)), ops.add(0, whole(80, 2)),
      ops.add(0, whole(200, 3));
  const SpanLane& lane = ops.store().lane(0, kBuckets);
  ASSERT_EQ(lane.tracks().size(), 2u);
  EXPECT_EQ(bucket_at(ops.store(), 0, *lane.tracks()[0], 0).range, (TimeRange{0, 50}));
  EXPECT_EQ(bucket_at(ops.store(), 0, *lane.tracks()[1], 0).range, (TimeRange{80, 130}));
  const SpanTrack& first = *lane.tracks()[0];
  EXPECT_EQ(bucket_at(ops.store(), 0, first, first.end() - 1).range, (TimeRange{200, 250}));
}

TEST(BucketSpans, are_separate_for_each_collective_of_a_bucket) {
  RecordedOps ops;
  ops.plan(0,
           "rank 0\nlane compute compute\nlane send.g0 send g0\nlane recv.g0 recv g0\nprogram "
           "train samples 8 of 16\nSEND.b0.t0.c0>r1 @send.g0 group g0\n"
           "RECV.b0.t0.c1<r1 @recv.g0 group g0\nSEND.b0.t0.c0>r1 @send.g0 group "
           "g0\nRECV.b0.t0.c1<r1 @recv.g0 group g0\n");
  SpanStore store;
  ops.add(0,
          {{0, 0, 0, 9, 0, 0}, {1, 0, 5, 9, 0, 0}, {2, 20, 20, 28, 0, 0}, {3, 20, 25, 30, 0, 0}});
  store.read(ops.history());
  const RankNames& names = store.names(0);
  ASSERT_EQ(names.programs.at(0).buckets.size(), 2u);
  EXPECT_THAT(names.lanes, ElementsAre("unnamed", "compute", "send.g0", "recv.g0", "buckets.g0"));
  EXPECT_THAT(names.shown, ElementsAre(0, 1, 4, 2, 3));
  const SpanTrack& track = *store.lane(0, 4).tracks().at(0);
  EXPECT_EQ(bucket_at(store, 0, track, 0).range, (TimeRange{0, 9}));
  EXPECT_EQ(bucket_at(store, 0, track, track.end() - 1).range, (TimeRange{20, 30}));
}

TEST(BucketSpans, have_no_second_lane_for_engine_collectives) {
  const auto names = names_from_plan(
      "rank 0\nlane compute compute\nlane gloo.g0 comm g0\nbuffer grads fp32 8\nprogram train "
      "samples 8 of 16\nAR.b0 @gloo.g0 group g0 reads grads writes "
      "grads\n");
  ASSERT_TRUE(names) << base::to_string(names.error());
  EXPECT_THAT(names->lanes, ElementsAre("unnamed", "compute", "gloo.g0"));
  EXPECT_FALSE(names->is_bucket_lane(2));
  EXPECT_TRUE(names->programs[0].buckets.empty());
}

TEST(BucketSpans, have_the_names_of_the_coarse_plan) {
  const auto names = names_from_plan(
      "rank 0\nlane send.g1 send g1\nbuffer params fp32 8\nprogram train samples 8 of 16\nbucket "
      "BCAST.b2<r0 group g1 writes params\n"
      "SEND.b2.t0.c0>r1 @send.g1 group g1 reads params\n");
  ASSERT_TRUE(names) << base::to_string(names.error());
  ASSERT_TRUE(names->bucket(0, 0));
  EXPECT_EQ(names->bucket(0, 0)->token, "BCAST.b2<r0");
}

}  // namespace
}  // namespace trainyard::ui
