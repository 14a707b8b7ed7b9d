// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/collective/chunk_spans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/collective/one_bucket.h"

namespace trainyard::collective {
namespace {

using testing::ElementsAre;

// Ranks send and receive exactly the spans, which are contiguous and complete.
TEST(ChunkSpans, are_those_of_the_ops_of_the_plan) {
  for (const Algorithm algorithm : kAlgorithms)
    for (const std::int64_t segment_bytes : {0, 60}) {
      SCOPED_TRACE(std::string(base::name_of(algorithm)) + ", segments of " +
                   std::to_string(segment_bytes));
      Method method = on_hosts(algorithm, 2, 2);
      method.segment_bytes = segment_bytes;
      const Exercise exercise{.algorithm = algorithm,
                              .hosts = method.hosts,
                              .elements = 101,
                              .segment_bytes = segment_bytes};
      const std::vector<ChunkSpan> spans = chunk_spans(exercise);
      std::int64_t next = 0;
      for (const ChunkSpan& span : spans) {
        EXPECT_EQ(span.first, next);
        next = span.first + span.count;
      }
      EXPECT_EQ(next, 101);
      const plan::Plan plan = one_bucket_expanded(method, 4, 101);
      for (int rank = 0; rank < 4; ++rank) {
        const plan::RankPlan of_rank = plan.rank_plan(rank);
        for (const plan::Op& op : of_rank.programs.front().ops) {
          if (op.kind != plan::OpKind::send) continue;
          const ChunkSpan &first = spans.at(static_cast<std::size_t>(op.chunk)),
                          &last = spans.at(static_cast<std::size_t>(op.chunk + op.chunks - 1));
          EXPECT_EQ(op.reads.front().first, first.first) << plan::token(op);
          EXPECT_EQ(op.reads.front().first + op.reads.front().count, last.first + last.count)
              << plan::token(op);
        }
      }
    }
}

TEST(ChunkSpans, of_too_many_chunks_are_empty) {
  const Exercise exercise{
      .hosts = std::vector<int>(64, 0), .elements = 1'000'000, .segment_bytes = 4000};
  EXPECT_TRUE(chunk_spans(exercise).empty());
  EXPECT_FALSE(steps(exercise));
}

TEST(ChunkSpans, have_the_names_of_ranks_in_the_program) {
  const Exercise exercise{.collective = Collective::broadcast,
                          .algorithm = Algorithm::star,
                          .hosts = {0, 0},
                          .elements = 8,
                          .bucket = 2,
                          .ranks = {0, 3}};
  const Steps played = steps(exercise).value();
  EXPECT_EQ(played.program[0].front().token, "SEND.b2.t0.c0>r3");
  EXPECT_EQ(played.program[1].front().token, "RECV.b2.t0.c0<r0");
}

TEST(ChunkSpans, are_summed_in_the_requested_order) {
  const Steps played =
      steps({.algorithm = Algorithm::star, .hosts = {0, 0}, .elements = 1}).value();
  const State state =
      state_at(played, {{2}, {5}}, played.count(), [](double a, double b) { return 100 * a + b; });
  EXPECT_EQ(state.held[1][0].value, 205);
}

}  // namespace
}  // namespace trainyard::collective
