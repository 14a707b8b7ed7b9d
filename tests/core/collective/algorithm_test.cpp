// SPDX-License-Identifier: GPL-3.0-or-later
// All-reduce algorithms, as programs over symbolic chunks and as proved plans.
#include "core/collective/algorithm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/check/check.h"
#include "tests/core/collective/one_bucket.h"

namespace trainyard::collective {
namespace {

class AllReduce : public testing::TestWithParam<Algorithm> {
 protected:
  void expect_proved(const Method& method, int members, std::int64_t elements) {
    const check::Report report = check::examine(one_bucket_expanded(method, members, elements));
    EXPECT_EQ(base::to_string(report.problems()), "")
        << members << " members, " << elements << " elements";
  }
};
INSTANTIATE_TEST_SUITE_P(All, AllReduce, testing::ValuesIn(kAlgorithms),
                         [](const auto& row) { return std::string(base::name_of(row.param)); });

TEST(Algorithm, parts_cover_all_elements_once_and_differ_by_at_most_one) {
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

TEST(Algorithm, list_has_all_but_the_automatic_one) {
  EXPECT_EQ(std::size(kAlgorithms) + 1, std::size(base::Names<Algorithm>::table));
}

TEST_P(AllReduce, of_one_member_does_nothing) {
  for (const Round& round : program(Collective::all_reduce, GetParam(), formation(1), 0, 0))
    EXPECT_TRUE(round.empty());
}

TEST_P(AllReduce, has_the_same_number_of_rounds_on_every_member) {
  for (int n = 1; n <= 17; ++n)
    for (int position = 1; position < n; ++position)
      EXPECT_EQ(program(Collective::all_reduce, GetParam(), formation(n), position, 0).size(),
                program(Collective::all_reduce, GetParam(), formation(n), 0, 0).size());
}

TEST_P(AllReduce, is_proved_for_1_to_32_members_and_indivisible_sizes) {
  for (int n = 1; n <= 32; ++n)
    for (const std::int64_t elements : {0, 1, n - 1, n, 3 * n + 2})
      expect_proved(GetParam(), n, elements);
}

TEST_P(AllReduce, is_proved_for_48_and_64_members) {
  for (const int n : {48, 63, 64}) expect_proved(GetParam(), n, 1000);
}

TEST_P(AllReduce, is_proved_over_hosts) {
  for (const auto& [hosts, devices] :
       {std::pair{2, 2}, {2, 3}, {3, 2}, {4, 2}, {3, 3}, {1, 5}, {5, 1}, {8, 4}})
    for (const std::int64_t elements : {0, 1, 7, 101})
      expect_proved(on_hosts(GetParam(), hosts, devices), hosts * devices, elements);
}

TEST_P(AllReduce, is_proved_over_hosts_of_different_sizes_and_interleaved_ranks) {
  for (const std::vector<int>& hosts :
       {std::vector{0, 0, 0, 1}, {0, 1, 0, 1}, {2, 0, 1, 1, 0}, {0, 1, 1, 1, 1, 2}}) {
    Method method(GetParam());
    method.hosts = hosts;
    const Formation stands = formation(hosts);
    if (fits(GetParam(), stands)) expect_proved(method, stands.members, 23);
    else EXPECT_EQ(GetParam(), Algorithm::sharded_hierarchical);
  }
}

TEST_P(AllReduce, is_proved_in_segments) {
  for (int n = 1; n <= 9; ++n)
    for (const std::int64_t segment_bytes : {4, 36, 100, 399, 400, 4000}) {
      Method method(GetParam());
      method.segment_bytes = segment_bytes;
      expect_proved(method, n, 100);
    }
}

TEST(Algorithm, segments_are_at_most_the_elements_and_256) {
  EXPECT_EQ(segments(100, 4, 0), 1);
  EXPECT_EQ(segments(0, 4, 1), 1);
  EXPECT_EQ(segments(100, 4, 400), 1);
  EXPECT_EQ(segments(100, 4, 399), 2);
  EXPECT_EQ(segments(7, 4, 1), 7);
  EXPECT_EQ(segments(std::int64_t{1} << 40, 8, 1), 256);
}

TEST(Algorithm, segments_run_concurrently) {
  Method method(Algorithm::binary_tree);
  const auto rounds = [&](std::int64_t segment_bytes) {
    method.segment_bytes = segment_bytes;
    return check::examine(one_bucket_expanded(method, 7, 100)).traffic.at(0).rounds;
  };
  EXPECT_EQ(rounds(400), 4);  // twice the height
  EXPECT_EQ(rounds(100), 7);  // four segments, each a round behind the one before
  EXPECT_EQ(rounds(40), 13);
}

TEST(Algorithm, ring_and_torus_send_to_neighbors_only) {
  for (int position = 0; position < 5; ++position)
    for (const Round& round : ring(formation(5), position))
      for (const Step& step : round)
        EXPECT_EQ(step.peer, (position + (step.kind == StepKind::send ? 1 : 4)) % 5);
  for (int position = 0; position < 12; ++position)
    for (const Round& round : torus(formation({0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2}), position))
      for (const Step& step : round) {
        const int rows = std::abs(step.peer / 4 - position / 4),
                  columns = std::abs(step.peer % 4 - position % 4);
        EXPECT_TRUE((rows == 0 && (columns == 1 || columns == 3)) ||
                    (columns == 0 && (rows == 1 || rows == 2)));
      }
}

TEST(Algorithm, double_binary_tree_has_no_member_as_inner_node_of_both_trees) {
  for (int n = 2; n <= 32; ++n) {
    int both = 0;
    for (int position = 0; position < n; ++position) {
      std::set<int> inner;
      for (const Round& round : double_binary_tree(formation(n), position))
        for (const Step& step : round)
          if (step.kind == StepKind::reduce_many) inner.insert(step.chunk);
      both += inner.size() == 2 ? 1 : 0;
    }
    EXPECT_LE(both, n % 2) << n;
  }
}

TEST(Algorithm, only_sharded_hierarchical_requires_equal_hosts) {
  for (const Algorithm algorithm : kAlgorithms)
    EXPECT_EQ(fits(algorithm, formation({0, 0, 1})), algorithm != Algorithm::sharded_hierarchical);
}

// No rank would then have a sum, which no checker accepts as an all-reduce.
TEST(Algorithm, sharded_hierarchical_has_no_rounds_on_unequal_hosts) {
  for (int position = 0; position < 3; ++position)
    EXPECT_TRUE(sharded_hierarchical(formation({0, 0, 1}), position).empty());
}

TEST(Formation, grid_is_nearest_to_a_square_or_has_one_host_per_row) {
  const auto columns = [](int members) { return formation(members).columns; };
  EXPECT_EQ(columns(1), 1);
  EXPECT_EQ(columns(7), 7);
  EXPECT_EQ(columns(12), 4);
  EXPECT_EQ(columns(16), 4);
  EXPECT_EQ(formation({0, 0, 1, 1, 2, 2}).columns, 2);
  EXPECT_EQ(formation({0, 1, 0, 1, 0, 1}).columns, 3);  // hosts are no rows
}

}  // namespace
}  // namespace trainyard::collective
