// SPDX-License-Identifier: GPL-3.0-or-later
// Plans with compressed gradients: they are proved for every scheme, and send the bytes of the
// formulas.
#include "core/experiment/compression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "core/collective/expand.h"
#include "core/experiment/fields.h"
#include "core/plan/text.h"
#include "core/strategy/strategy.h"
#include "tests/core/collective/one_bucket.h"
#include "tests/core/strategy/experiments.h"

namespace trainyard::strategy {
namespace {

using compute::compression::Scheme;

const Scheme kAll[] = {Scheme::fp16,  Scheme::bf16,     Scheme::int8,     Scheme::sign,
                       Scheme::top_k, Scheme::random_k, Scheme::power_sgd};

experiment::Experiment compressed(int ranks, Scheme kind) {
  auto e = small(ranks);
  e.strategy.compression = {kind, 0.1, 2, true};
  return e;
}

std::int64_t sent_in_a_step(const plan::Plan& plan) {
  std::int64_t bytes = 0;
  for (std::int32_t rank = 0; rank < plan.ranks; ++rank) {
    const plan::RankPlan one = plan.rank_plan(rank);
    bytes +=
        collective::sent_bytes(one, one.programs[static_cast<std::size_t>(one.program("train"))]);
  }
  return bytes;
}

RC_GTEST_PROP(CompressedPlans, send_the_bytes_of_the_formulas, ()) {
  const int n = *rc::gen::inRange(2, 6);
  auto e = compressed(n, *rc::gen::elementOf(std::vector(std::begin(kAll), std::end(kAll))));
  e.strategy.bucket_bytes = *rc::gen::element(1, 150, 100000);
  e.strategy.compression.error_feedback = *rc::gen::arbitrary<bool>();
  e.strategy.compression.rank = *rc::gen::inRange(1, 4);
  e.strategy.algorithm =
      *rc::gen::element(collective::Algorithm::ring, collective::Algorithm::direct);
  const auto r = resolved(e);
  std::int64_t expected = 0;
  for (const experiment::Bucket& bucket : experiment::buckets(r))
    for (const auto& payload : experiment::payloads(r, bucket))
      expected += (payload.collective == collective::Collective::all_gather ? 1 : 2) * (n - 1) *
                  payload.bytes();
  const auto plan = make_plan(r).value();
  RC_ASSERT(sent_in_a_step(plan) == expected);
}

// Against the bytes that the plan sends, and its own without compression.
RC_GTEST_PROP(CompressedPlans, reduce_traffic_by_the_reported_factor, ()) {
  const int n = *rc::gen::inRange(2, 6);
  const Scheme kind = *rc::gen::elementOf(std::vector(std::begin(kAll), std::end(kAll)));
  auto e = compressed(n, kind);
  e.strategy.bucket_bytes = *rc::gen::element(1, 150, 100000);
  e.strategy.algorithm =
      *rc::gen::element(collective::Algorithm::ring, collective::Algorithm::direct);
  auto plain = e;
  plain.strategy.compression.kind = Scheme::none;
  const auto savings = experiment::savings(resolved(e)).value();
  const auto without = static_cast<double>(sent_in_a_step(make_plan(resolved(plain)).value()));
  RC_ASSERT(std::fabs(*savings.sent - without / static_cast<double>(sent_in_a_step(
                                                    make_plan(resolved(e)).value()))) <
            1e-12 * *savings.sent);
  const double partitioned_segments = compute::compression::gathers(kind) ? 2.0 / n : 1;
  RC_ASSERT(std::fabs(*savings.sent - savings.encoded * partitioned_segments) <
            1e-12 * *savings.sent);
}

TEST(CompressedPlans, report_larger_traffic) {
  EXPECT_EQ(experiment::savings(resolved(small(3))), std::nullopt);
  EXPECT_EQ(experiment::savings(resolved(compressed(1, Scheme::fp16))), std::nullopt);
  // The factor, and whether it is less or more, of the encoded size and of the traffic.
  const auto line = [](const experiment::Savings& savings) {
    return experiment::savings_line(savings);
  };
  const auto says = [](const char* encoded, const char* sent) {
    return testing::AllOf(testing::HasSubstr(encoded), testing::HasSubstr(sent));
  };
  EXPECT_THAT(line(experiment::savings(resolved(compressed(3, Scheme::fp16))).value()),
              says("2x smaller", "2x less"));
  EXPECT_THAT(line({3.98, 1.99}), says("3.98x smaller", "1.99x less"));
  EXPECT_THAT(line({4, 0.5}), says("4x smaller", "2x more"));
  EXPECT_THAT(line({4, {}}), testing::AllOf(testing::HasSubstr("4x smaller"),
                                            testing::Not(testing::HasSubstr("x less")),
                                            testing::Not(testing::HasSubstr("x more"))));
  EXPECT_THAT(line({0.5, 0.25}), says("2x larger", "4x more"));
  EXPECT_THAT(line({3.98, 0.999}), testing::AllOf(testing::HasSubstr("3.98x smaller"),
                                                  testing::Not(testing::HasSubstr("x less")),
                                                  testing::Not(testing::HasSubstr("x more"))));
  EXPECT_THAT(line({1.001, 1.001}), testing::Not(testing::ContainsRegex("[0-9]x")));
}

// Buckets by hand: segment 2, then segments 1 and 0, of 25, 28 and 48 numbers (see experiments.h:
// 7-6-4-5 units).
TEST(CompressedPlans, have_the_expected_payloads) {
  const auto bytes = [](Scheme kind) {
    auto e = compressed(3, kind);
    e.strategy.bucket_bytes = 110;
    const auto r = resolved(e);
    std::vector<std::int64_t> list;
    for (const experiment::Bucket& bucket : experiment::buckets(r))
      for (const auto& payload : experiment::payloads(r, bucket)) list.push_back(payload.bytes());
    return list;
  };
  using Bytes = std::vector<std::int64_t>;
  EXPECT_EQ(bytes(Scheme::none), (Bytes{4 * 53, 4 * 48}));
  EXPECT_EQ(bytes(Scheme::fp16), (Bytes{2 * 53, 2 * 48}));
  EXPECT_EQ(bytes(Scheme::bf16), (Bytes{2 * 53, 2 * 48}));
  EXPECT_EQ(bytes(Scheme::int8), (Bytes{3 * (4 + 53), 3 * (4 + 48)}));
  EXPECT_EQ(bytes(Scheme::sign), (Bytes{3 * (4 + 7), 3 * (4 + 6)}));
  EXPECT_EQ(bytes(Scheme::top_k), (Bytes{3 * 8 * 5, 3 * 8 * 5}));
  EXPECT_EQ(bytes(Scheme::random_k), (Bytes{4 * 5, 4 * 5}));
  // 6 x 7 becomes 2 (6 + 7); 5 x 4 and 4 x 6 become 2 (5 + 4) and, as 2 (4 + 6) is less than 24,
  // 20; biases stay.
  EXPECT_EQ(bytes(Scheme::power_sgd),
            (Bytes{4 * (4 * 2 + 4 + 5 * 2 + 5), 4 * (6 * 2 + 4 * 2), 4 * (6 * 2 + 6), 4 * 7 * 2}));
}

TEST(CompressedPlans, of_one_rank_do_not_compress) {
  const auto plain = make_plan(resolved(small(1))).value();
  for (const Scheme kind : kAll)
    EXPECT_EQ(plan::to_text(make_plan(resolved(compressed(1, kind))).value()),
              plan::to_text(plain));
}

TEST(CompressedPlans, keep_gradients_private_and_a_residual_with_error_feedback) {
  for (const Scheme kind : kAll)
    for (const bool feedback : {true, false}) {
      auto e = compressed(2, kind);
      e.strategy.compression.error_feedback = feedback;
      const plan::RankPlan rank = make_plan(resolved(e)).value().rank_plan(1);
      EXPECT_FALSE(rank.buffers[rank.buffer("grads").index()].shared);
      EXPECT_TRUE(rank.buffers[rank.buffer("encoded").index()].shared);
      const bool keeps = feedback && kind != Scheme::fp16 && kind != Scheme::bf16;
      EXPECT_EQ(rank.buffer("residual").valid(), keeps) << base::name_of(kind);
    }
}

}  // namespace
}  // namespace trainyard::strategy
