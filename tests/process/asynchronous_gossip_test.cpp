// SPDX-License-Identifier: GPL-3.0-or-later
// Asynchronous gossip by the programs themselves, over the transports of real runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "examples.h"
#include "run_program.h"

namespace trainyard::process {
namespace {

using base::Json;
using testing::AllOf;
using testing::HasSubstr;

const std::string kAsynchronous = "strategy.gossip.mode=asynchronous";

class AsynchronousGossip : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Run, AsynchronousGossip, testing::Values("shm", "zmq", "inproc"));

// In 40 steps each of four asks one neighbor, and is answered; the mean twice, in 2 (n - 1) S.
TEST_P(AsynchronousGossip, sends_what_the_formula_says_and_all_end_with_the_mean) {
  const Home home;
  const Json result =
      completed(short_run(kGossip, 40, {kAsynchronous, "run.transport=" + GetParam()}));
  const std::int64_t s = 4 * kElements;
  EXPECT_EQ(result["wire_bytes"]["payload"], 40 * 4 * 2 * s + 2 * 2 * 7 * s);
  expect_all_end_alike(result);
  EXPECT_GT(result["consensus_distance"], 0);
  EXPECT_FALSE(result.contains("lambda_2"));
  EXPECT_TRUE(result["staleness"].is_null())
      << "of those who average in pairs nobody counts versions";
}

// Meetings at odd moments, one slow rank on either side.
TEST_P(AsynchronousGossip, goes_on_whoever_is_slow) {
  const Home home;
  for (const std::string slow : {"0", "3"}) {
    const Ran ran =
        cli(short_run(kGossip, 400,
                      {kAsynchronous, "run.transport=" + GetParam(),
                       "topology.hosts[" + slow + "].devices[0].slow_down=5",
                       "strategy.gossip.consensus_every_steps=97",
                       R"(model.layers=[{"kind":"flatten"},{"kind":"linear","units":0}])"}));
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(ran.result()["steps"], 400);
    expect_all_end_alike(ran.result());
    std::int64_t told = 0;
    for (const Json& line : ran.lines())
      if (line["type"] == "progress" && line.contains("furthest_step")) {
        ++told;
        EXPECT_GE(line["furthest_step"], line["step"]) << "which is of the slowest";
      }
    EXPECT_GT(told, 0);
  }
}

// One that asks, and one that answers.
TEST_P(AsynchronousGossip, a_rank_that_dies_ends_the_run_and_is_named) {
  if (GetParam() == "inproc") GTEST_SKIP() << "ranks are threads of one process";
  for (const int victim : {2, 5}) {
    const Home home;
    RunProgram run(home, endless_run(kGossip, {kAsynchronous, "run.transport=" + GetParam()}));
    ASSERT_TRUE(run.wait_for_step(10));
    const auto ranks = run.ranks();
    ASSERT_EQ(ranks.size(), 8u);
    ::kill(ranks[static_cast<std::size_t>(victim)].pid, SIGKILL);
    const Ran ran = run.wait();
    EXPECT_EQ(ran.exit_code, 3);
    EXPECT_THAT(ran.result()["problem"]["where"].get<std::string>(),
                HasSubstr("rank " + std::to_string(victim)))
        << ran.err;
    for (const RankProcess& left : ranks)
      EXPECT_TRUE(wait_until_gone(left.pid, promised)) << "rank " << left.rank << " was left";
  }
}

TEST(AsynchronousGossip, its_plan_is_proved_and_what_is_not_modeled_is_refused) {
  const Ran checked = cli({"check", kGossip, "--set", kAsynchronous});
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  EXPECT_THAT(checked.out, HasSubstr("pairing"));
  const Ran simulated = cli({"simulate", kGossip, "--set", kAsynchronous});
  EXPECT_NE(simulated.exit_code, 0);
  EXPECT_THAT(simulated.err, AllOf(HasSubstr("strategy.gossip.mode"),
                                   HasSubstr("the simulator does not model asynchronous gossip")));
  const Ran on_clock =
      cli({"validate", kGossip, "--set", kAsynchronous, "--set", "run.clock=virtual"});
  EXPECT_EQ(on_clock.exit_code, 2);
  EXPECT_THAT(on_clock.err, AllOf(HasSubstr("run.clock"), HasSubstr("asynchronous gossip")));
  const Ran odd =
      cli({"validate", kGossip, "--set", kAsynchronous, "--set", "strategy.gossip.graph=complete"});
  EXPECT_EQ(odd.exit_code, 2);
  EXPECT_THAT(odd.err, AllOf(HasSubstr("strategy.gossip.graph"),
                             HasSubstr("ranks 1, 0 and 2 form a cycle of 3")));
}

}  // namespace
}  // namespace trainyard::process
