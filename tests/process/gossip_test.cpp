// SPDX-License-Identifier: GPL-3.0-or-later
// gossip by the programs themselves, over the transports of real runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "core/base/json.h"
#include "examples.h"
#include "run_program.h"

namespace trainyard::process {
namespace {

using base::Json;
using testing::HasSubstr;

class Gossip : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Run, Gossip, testing::Values("auto", "shm", "zmq", "inproc"));

// 40 steps to two neighbors, and the mean twice: after 25 steps, and after the last. In chunks of
// unequal length all together send 2 (n - 1) S for it.
TEST_P(Gossip, sends_what_the_formula_says_and_all_end_with_the_mean) {
  const Home home;
  const Json result = completed(short_run(kGossip, 40, {"run.transport=" + GetParam()}));
  const std::int64_t s = 4 * kElements;
  EXPECT_EQ(result["steps"], 40);
  EXPECT_EQ(result["wire_bytes"]["payload"], 40 * 8 * 2 * s + 2 * 2 * 7 * s);
  expect_all_end_alike(result);
  EXPECT_GT(result["consensus_distance"], 0);
  EXPECT_NEAR(result["lambda_2"].get<double>(),
              1.0 / 3 + 2.0 / 3 * std::cos(2 * std::numbers::pi / 8), 1e-12);
}

// Vector4Of hosts on a switch, and of direct links a chain: who is linked so is a neighbor, whose
// weights are thirds (Metropolis and Hastings).
TEST(Gossip, over_a_drawn_graph_is_with_those_that_a_link_joins) {
  const Home home;
  Json e = Json::parse(read(example("four_hosts_ring_digits")));
  e["strategy"]["kind"] = "gossip";
  e["strategy"]["gossip"]["graph"] = "drawn";
  e["strategy"]["gossip"]["consensus_every_steps"] = 0;
  const auto drawn = [&](const std::vector<std::pair<int, int>>& chain) {
    Json with = e;
    for (const auto& [from, to] : chain)
      with["topology"]["links"].push_back({{"from", "host" + std::to_string(from)},
                                           {"to", "host" + std::to_string(to)},
                                           {"bandwidth_bits_per_second", 1e10},
                                           {"latency_seconds", 1e-5}});
    return home.scratch().write("drawn.json", with.dump());
  };
  const Json result = completed(short_run(drawn({{0, 1}, {1, 2}, {2, 3}}), 20, {}));
  const std::int64_t s = 4 * kElements;
  EXPECT_EQ(result["wire_bytes"]["payload"], 20 * 2 * 3 * s + 2 * 3 * s)
      << "both ways over three links at every step, and the mean at the end";
  EXPECT_NEAR(result["lambda_2"].get<double>(), 1.0 / 3 + 2.0 / 3 * std::cos(std::numbers::pi / 4),
              1e-12);
  expect_all_end_alike(result);
  const Ran cut = cli({"run", drawn({{0, 1}, {1, 2}}), "--json"});
  EXPECT_EQ(cut.exit_code, 2);
  EXPECT_THAT(cut.err, testing::AllOf(HasSubstr("strategy.gossip.graph"), HasSubstr("cut off")));
}

// Ranks agree more closely if the graph is closer to a complete one.
TEST(Gossip, a_better_graph_keeps_ranks_closer) {
  const Home home;
  const Json ring = completed(short_run(kGossip, 60, {})),
             complete = completed(short_run(kGossip, 60, {"strategy.gossip.graph=complete"}));
  EXPECT_LT(complete["lambda_2"].get<double>(), 1e-9);
  EXPECT_LT(complete["consensus_distance"].get<double>(), ring["consensus_distance"].get<double>());
}

TEST(Gossip, a_run_that_is_stopped_ends_with_one_set_of_parameters_too) {
  const Home home;
  RunProgram run(
      home, endless_run(kGossip, {"run.transport=shm", "strategy.gossip.consensus_every_steps=0"}));
  ASSERT_TRUE(run.wait_for_step(30));
  run.signal(SIGINT);
  const Ran ran = run.wait();
  EXPECT_EQ(ran.exit_code, 130) << ran.err;
  const Json result = ran.result();
  EXPECT_EQ(result["status"], "cancelled");
  expect_all_end_alike(result);
  EXPECT_GT(result["consensus_distance"], 0) << "measured at the end, wherever that is";
}

TEST(Gossip, a_run_is_replayed_with_its_distances) {
  const Home home;
  const Json result = completed(short_run(kGossip, 60, {}));
  const Ran replayed = cli({"replay", result["run_directory"].get<std::string>(), "--json"});
  ASSERT_EQ(replayed.exit_code, 0) << replayed.err;
  EXPECT_EQ(replayed.result()["consensus_distance"], result["consensus_distance"]);
  EXPECT_THAT(replayed.out, HasSubstr("\"type\":\"consensus\""));
}

TEST(Gossip, its_plan_is_proved_simulated_and_refused_where_ranks_are_cut_off) {
  const Ran checked = cli({"check", kGossip});
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  EXPECT_THAT(checked.out, HasSubstr("proved: mixing"));
  const Ran simulated = cli({"simulate", kGossip, "--json"});
  ASSERT_EQ(simulated.exit_code, 0) << simulated.err;
  EXPECT_EQ(simulated.result()["wire_bytes"], 8 * 2 * 4 * kElements);
  const Ran cut =
      cli({"validate", kGossip, "--set",
           R"(strategy.gossip.weights=[{"a":0,"b":1,"weight":0},{"a":0,"b":7,"weight":0}])"});
  EXPECT_EQ(cut.exit_code, 2);
  EXPECT_THAT(cut.err, HasSubstr("ranks 1, 2, 3, 4, 5, 6 and 7 are cut off"));
}

}  // namespace
}  // namespace trainyard::process
