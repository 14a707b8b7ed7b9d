// SPDX-License-Identifier: GPL-3.0-or-later
// The collectives that are no all-reduce: proved, coarse and expanded, and counted.
#include <gtest/gtest.h>

#include "core/check/check.h"
#include "tests/core/collective/one_bucket.h"

namespace trainyard::collective {
namespace {

std::string token(Collective collective, int root) {
  switch (collective) {
    case Collective::all_reduce: return "AR.b0";
    case Collective::reduce_scatter: return "RS.b0";
    case Collective::all_gather: return "AG.b0";
    case Collective::broadcast: return "BCAST.b0<r" + std::to_string(root);
    case Collective::reduce: return "REDUCE.b0>r" + std::to_string(root);
    case Collective::scatter: return "SCATTER.b0<r" + std::to_string(root);
    case Collective::gather: return "GATHER.b0>r" + std::to_string(root);
  }
  return "";
}

constexpr Collective kOthers[] = {Collective::reduce_scatter, Collective::all_gather,
                                  Collective::broadcast,      Collective::reduce,
                                  Collective::scatter,        Collective::gather};

class OtherCollectives : public testing::TestWithParam<Collective> {
 protected:
  static plan::Plan coarse(int members, std::int64_t elements, int root) {
    return one_bucket(members, elements, token(GetParam(), root), "");
  }
};
INSTANTIATE_TEST_SUITE_P(All, OtherCollectives, testing::ValuesIn(kOthers), [](const auto& row) {
  std::string name = token(row.param, 0);
  return name.substr(0, name.find('.'));
});

TEST_P(OtherCollectives, are_proved_coarse_and_expanded_for_1_to_32_members) {
  for (int n = 1; n <= 32; ++n)
    for (const std::int64_t elements : {0, 1, n - 1, 3 * n + 2})
      for (const int root : {0, n / 2, n - 1}) {
        const plan::Plan whole = coarse(n, elements, root);
        EXPECT_EQ(base::to_string(check::examine(whole).problems()), "")
            << n << " members, " << elements << " elements, root " << root;
        for (const Algorithm algorithm :
             {Algorithm::ring, Algorithm::direct, Algorithm::halving_doubling})
          EXPECT_EQ(base::to_string(check::examine(expand(whole, algorithm)).problems()), "")
              << n << " members, " << elements << " elements, root " << root << ", "
              << base::name_of(algorithm);
      }
}

TEST_P(OtherCollectives, are_distinguished_from_an_all_reduce) {
  plan::Plan plan = expand(coarse(3, 10, 1), Algorithm::ring);
  const auto mistaken = [rank_plan = plan.rank_plan](std::int32_t rank) {
    plan::RankPlan one = rank_plan(rank);
    for (plan::Program& program : one.programs) program.wanted.clear();
    return one;
  };
  plan.rank_plan = mistaken;
  EXPECT_NE(base::to_string(check::examine(plan).problems()), "");
}

TEST_P(OtherCollectives, move_the_least_bytes) {
  for (int n = 1; n <= 9; ++n)
    for (const std::int64_t elements : {0, 5, 101}) {
      const check::ProgramTraffic train =
          check::examine(expand(coarse(n, elements, n - 1), Algorithm::ring)).traffic.at(0);
      std::int64_t total = 0;
      for (int rank = 0; rank < n; ++rank) total += train.bytes_from(rank);
      const bool chunks = GetParam() == Collective::scatter || GetParam() == Collective::gather;
      EXPECT_EQ(total,
                4 * (chunks ? elements - part(elements, n, n - 1).second : (n - 1) * elements))
          << n << ", " << elements;
    }
}

TEST(Collectives, from_and_to_a_root_take_log2_rounds_over_a_tree_and_one_round_directly) {
  for (int n = 2; n <= 33; ++n) {
    int log2 = 0;
    while ((1 << log2) < n) ++log2;
    EXPECT_LE(broadcast(Algorithm::ring, formation(n), 0, 0).size(),
              static_cast<std::size_t>(log2));
    EXPECT_LE(reduce(Algorithm::ring, formation(n), 0, 0).size(), static_cast<std::size_t>(log2));
    EXPECT_EQ(broadcast(Algorithm::star, formation(n), 0, 0).size(), 1u);
    EXPECT_EQ(reduce(Algorithm::direct, formation(n), 0, 0).size(), 1u);
  }
}

TEST(Collectives, keep_the_requested_algorithm_of_a_bucket_in_the_text) {
  const plan::Plan plan = expand(one_bucket(2, 4, "BCAST.b0<r1", ""), Algorithm::ring);
  const std::string text = plan::to_text(plan);
  EXPECT_NE(text.find("bucket BCAST.b0<r1 group g0 writes grads\n"), std::string::npos);
  EXPECT_EQ(plan::to_text(plan::parse(text).value()), text);
}

TEST(Collectives, norm_after_a_reduce_scatter_may_read_only_the_local_chunk) {
  const plan::Plan plan =
      expand(one_bucket(2, 4, "RS.b0", "NORM.s0 @compute reads grads[0:2] after comm.g0:1\n"),
             Algorithm::ring);
  const auto findings = check::examine(plan).findings;
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].proof, check::Proof::meaning);
  EXPECT_NE(findings[0].problem.where.find("rank 1"), std::string::npos)
      << findings[0].problem.where;
}

}  // namespace
}  // namespace trainyard::collective
