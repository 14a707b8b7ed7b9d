// SPDX-License-Identifier: GPL-3.0-or-later
// Predicted cost of algorithms against the simulator, which follows every op.
#include "core/collective/cost.h"

#include <gtest/gtest.h>

#include "tests/core/collective/one_bucket.h"
#include "tests/core/collective/star_of.h"
#include "tests/core/sim/plans.h"

namespace trainyard::sim {
namespace {

using collective::Algorithm;

struct Compared {
  double predicted = 0, followed = 0;
};

Compared compared(Algorithm algorithm, int hosts, int devices, std::int64_t segment_bytes,
                  const collective::Speeds& speeds) {
  constexpr std::int64_t kElements = 7 * 720;  // chunks of all are alike, up to 10 members
  const topology::Topology drawing = collective::star_of(hosts, devices, speeds);
  collective::Method method = collective::on_hosts(algorithm, hosts, devices);
  method.segment_bytes = segment_bytes;
  const double followed = simulated(all_reduce(hosts * devices, kElements, method), drawing, bare())
                              .outcome.first_step_seconds;
  return {collective::Drawn(hosts, devices, speeds).of(algorithm, kElements, segment_bytes).seconds,
          followed};
}

class Predicted : public testing::TestWithParam<Algorithm> {};

// Not every round waits for the slowest of the one before, so that less time may pass; and members
// who are ahead take bandwidth from those who are not, so that a little more may.
TEST_P(Predicted, is_close_to_the_simulator) {
  const collective::Speeds links,
      busses{.link_bits_per_second = 1e12, .bus_bits_per_second = collective::kBandwidth},
      memory{.memory_bytes_per_second = 1e10};
  for (const auto& [hosts, devices] :
       {std::pair{2, 1}, {3, 1}, {5, 1}, {8, 1}, {2, 2}, {2, 3}, {3, 2}, {4, 2}})
    for (const std::int64_t segment_bytes : {0, 7000})
      for (const collective::Speeds& speeds : {links, busses, memory}) {
        const auto [predicted, followed] =
            compared(GetParam(), hosts, devices, segment_bytes, speeds);
        EXPECT_LE(followed, 1.03 * predicted)
            << hosts << " x " << devices << ", segments of " << segment_bytes;
        EXPECT_GE(followed, 0.5 * predicted)
            << hosts << " x " << devices << ", segments of " << segment_bytes;
      }
}

// All members are equally fast in every round. Shares of a link are rounded.
TEST(PredictedEqualRanks, equals_the_simulator_if_all_ranks_are_equal) {
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::direct, Algorithm::all_to_all})
    for (const int hosts : {2, 3, 5, 8}) {
      const auto [predicted, followed] = compared(algorithm, hosts, 1, 0, {});
      EXPECT_NEAR(followed, predicted, 3e-3 * predicted)
          << base::name_of(algorithm) << ", " << hosts << " hosts";
    }
}

INSTANTIATE_TEST_SUITE_P(algorithms, Predicted, testing::ValuesIn(collective::kAlgorithms),
                         [](const auto& row) { return std::string(base::name_of(row.param)); });

}  // namespace
}  // namespace trainyard::sim
