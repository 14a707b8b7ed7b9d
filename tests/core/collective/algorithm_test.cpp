// SPDX-License-Identifier: GPL-3.0-or-later
// Ring and direct, as programs over symbolic chunks and as proved plans.
#include "core/collective/algorithm.h"

#include <gtest/gtest.h>

#include "core/check/check.h"
#include "tests/core/collective/one_bucket.h"

namespace trainyard::collective {
namespace {

constexpr std::int64_t kElementBytes = 4;

std::int64_t chunk_bytes(std::int64_t elements, int members, int chunk) { return kElementBytes * part(elements, members, chunk % members).second; }

// Of ORACLES, "All-reduce": ring 2 S - c[r + 1] - c[r + 2], direct S - c[r] + (n - 1) c[r].
std::int64_t formula(Algorithm algorithm, std::int64_t elements, int n, int rank) {
  const std::int64_t whole = kElementBytes * elements;
  const auto c = [&](int chunk) { return chunk_bytes(elements, n, chunk); };
  return algorithm == Algorithm::ring ? 2 * whole - c(rank + 1) - c(rank + 2) : whole - c(rank) + (n - 1) * c(rank);
}

void expect_proved(Algorithm algorithm, int members, std::int64_t elements) {
  const check::Report report = check::examine(one_bucket_expanded(algorithm, members, elements));
  EXPECT_EQ(base::to_string(report.problems()), "") << base::name_of(algorithm) << ", " << members << " members, " << elements << " elements";
}

TEST(Algorithm, parts_cover_everything_once_and_differ_by_one_at_most) {
  for (const std::int64_t elements : {0, 1, 5, 6, 7, 100})
    for (int parts = 1; parts <= 9; ++parts) {
      std::int64_t next = 0;
      for (int i = 0; i < parts; ++i) {
        const auto [first, count] = part(elements, parts, i);
        EXPECT_EQ(first, next);
        EXPECT_TRUE(count == elements / parts || count == elements / parts + 1);
        next += count;
      }
      EXPECT_EQ(next, elements);
    }
}

TEST(Algorithm, one_member_has_nothing_to_do) {
  EXPECT_TRUE(ring(1, 0).empty());
  EXPECT_TRUE(direct(1, 0).empty());
}

TEST(Algorithm, ring_takes_2_n_minus_1_rounds_and_direct_two) {
  for (int n = 2; n <= 9; ++n)
    for (int position = 0; position < n; ++position) {
      EXPECT_EQ(ring(n, position).size(), static_cast<std::size_t>(2 * (n - 1)));
      EXPECT_EQ(direct(n, position).size(), 2u);
    }
}

TEST(Algorithm, ring_talks_to_its_neighbours_only) {
  for (int position = 0; position < 5; ++position)
    for (const Round& round : ring(5, position))
      for (const Step& step : round) EXPECT_EQ(step.peer, (position + (step.kind == StepKind::send ? 1 : 4)) % 5);
}

TEST(Algorithm, is_proved_for_1_to_32_members_and_sizes_that_do_not_divide) {
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::direct})
    for (int n = 1; n <= 32; ++n)
      for (const std::int64_t elements : {0, 1, n - 1, n, 3 * n + 2}) expect_proved(algorithm, n, elements);
}

TEST(Algorithm, is_proved_for_48_and_64_members) {
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::direct})
    for (const int n : {48, 64}) expect_proved(algorithm, n, 1000);
}

TEST(Algorithm, moves_the_optimal_number_of_bytes) {
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::direct})
    for (int n = 1; n <= 9; ++n)
      for (const std::int64_t elements : {0, 1, n - 1, n, 100, 101, 9973}) {
        const check::Report report = check::examine(one_bucket_expanded(algorithm, n, elements));
        const check::ProgramTraffic& train = report.traffic.at(0);
        std::int64_t total = 0;
        for (int rank = 0; rank < n; ++rank) {
          EXPECT_EQ(train.bytes_from(rank), formula(algorithm, elements, n, rank))
              << base::name_of(algorithm) << ", n = " << n << ", rank " << rank << ", " << elements;
          total += train.bytes_from(rank);
        }
        EXPECT_EQ(total, 2 * (n - 1) * kElementBytes * elements);
      }
}

}  // namespace
}  // namespace trainyard::collective
