// SPDX-License-Identifier: GPL-3.0-or-later
// Gossip by the programs themselves: interrupted and replayed runs, and progress lines.
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

TEST(Gossip, stopped_run_ends_with_equal_parameters) {
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
  EXPECT_GT(result["consensus_distance"], 0) << "measured at the last step";
}

TEST(Gossip, run_is_replayed_with_consensus_distances) {
  const Home home;
  const Json result = completed(short_run(kGossip, 60, {}));
  EXPECT_NEAR(result["lambda_2"].get<double>(),
              1.0 / 3 + 2.0 / 3 * std::cos(2 * std::numbers::pi / 8), 1e-12)
      << "of a ring of eight";
  const Ran replayed = cli({"replay", result["run_directory"].get<std::string>(), "--json"});
  ASSERT_EQ(replayed.exit_code, 0) << replayed.err;
  EXPECT_EQ(replayed.result()["consensus_distance"], result["consensus_distance"]);
  EXPECT_THAT(replayed.out, HasSubstr("\"type\":\"consensus\""));
}

TEST(AsynchronousGossip, progress_has_the_steps_of_the_slowest_and_the_fastest_rank) {
  const Home home;
  const Ran ran = cli(
      short_run(kGossip, 400,
                {"strategy.gossip.mode=asynchronous", "topology.hosts[3].devices[0].slow_down=5",
                 R"(model.layers=[{"kind":"flatten"},{"kind":"linear","units":0}])"}));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.result()["steps"], 400);
  EXPECT_TRUE(ran.result()["staleness"].is_null()) << "pairs count no versions";
  std::int64_t lines = 0;
  for (const Json& line : ran.lines())
    if (line["type"] == "progress" && line.contains("furthest_step")) {
      ++lines;
      EXPECT_GE(line["furthest_step"], line["step"]) << "of the slowest rank";
    }
  EXPECT_GT(lines, 0);
}

}  // namespace
}  // namespace trainyard::process
