// SPDX-License-Identifier: GPL-3.0-or-later
// Parameter servers by the programs themselves: staleness and dropped gradients in the result,
// replayed runs, and memory of the server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "examples.h"
#include "run_program.h"

namespace trainyard::process {
namespace {

using base::Json;
using testing::HasSubstr;

// Every update is of three gradients of 32 samples; what else was computed trained nothing, and is
// said apart.
TEST(ParameterServer, drops_late_gradients_with_backup_workers) {
  for (const std::string clock : {"machine", "virtual"}) {
    const Home home;
    const Json result = completed(short_run(
        kServed, 60,
        {"strategy.servers.mode=backup_workers", "topology.hosts[0].devices[0].slow_down=20",
         "strategy.servers.backups=1", "data.train_samples=1024", "run.clock=" + clock}));
    EXPECT_EQ(result["steps"], 60);
    EXPECT_EQ(result["staleness"]["max"], 0);
    ASSERT_GT(result["dropped_gradients"], 0) << clock;
    EXPECT_EQ(result["samples"], 60 * 3 * 32) << clock;
    EXPECT_EQ(result["dropped_samples"], 32 * result["dropped_gradients"].get<std::int64_t>())
        << clock;
  }
}

// Zhang et al. 2016: gradients that are so stale do not train by a learning rate that fresh ones
// would; divided by their staleness it does.
TEST(ParameterServer, trains_with_a_large_learning_rate_divided_by_staleness) {
  const Home home;
  const std::string stale = example("thirty_two_virtual_workers_digits");
  const Json fixed = completed({"run", stale, "--json"}),
             divided = completed(
                 {"run", stale, "--json", "--set", "strategy.servers.staleness_rate=divided"});
  EXPECT_NEAR(fixed["staleness"]["mean"].get<double>(), 31, 0.62);
  EXPECT_EQ(divided["staleness"], fixed["staleness"]) << "the same order";
  EXPECT_LT(fixed["held_out_accuracy"], 0.2) << "no better than a guess";
  EXPECT_GT(divided["held_out_accuracy"], 0.9);
}

// The order, and thus the staleness, is known on the virtual clock. 40 rounds push S each, and
// every worker gets one more reply at its end. A work assignment has 32 bytes, a request 8.
TEST(ParameterServer, reports_staleness) {
  const Home home;
  std::vector<std::string> arguments = short_run(kServed, 40, {"run.clock=virtual"});
  const Json result = completed(arguments);  // on the virtual clock it is the same run
  const std::int64_t s = 4 * kElements;
  EXPECT_EQ(result["clock"], "virtual");
  EXPECT_EQ(result["wire_bytes"]["payload"], 40 * s + (40 + 4) * (s + 32) + 4 * 16);
  std::erase(arguments, "--json");
  const Ran ran = cli(arguments);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NEAR(result["staleness"]["mean"], (0 + 1 + 2 + 37 * 3) / 40.0, 1e-9)
      << "all four pull first; from then on three updates are in between";
  EXPECT_EQ(result["staleness"]["p95"], 3);
  EXPECT_THAT(ran.out, testing::ContainsRegex("\n  staleness +mean 2.85,"));
}

TEST(ParameterServer, replays_staleness) {
  const Home home;
  const Json result = completed(short_run(kServed, 100, {}));
  const Ran replayed = cli({"replay", result["run_directory"].get<std::string>(), "--json"});
  ASSERT_EQ(replayed.exit_code, 0) << replayed.err;
  EXPECT_EQ(replayed.result()["staleness"], result["staleness"]);
}

TEST(ParameterServer, with_too_little_memory_is_refused_before_the_start) {
  const std::vector<std::string> small{"--set",
                                       "topology.hosts[0].devices[4].memory_bytes=2000000"};
  for (const std::string verb : {"validate", "run"}) {
    const Home home;
    std::vector<std::string> arguments{verb, kServed, "--json"};
    arguments.insert(arguments.end(), small.begin(), small.end());
    const Ran ran = cli(arguments);
    EXPECT_EQ(ran.exit_code, 2) << verb;
    EXPECT_THAT(ran.problems(), testing::ElementsAre(testing::Pair(
                                    "out_of_memory", "topology.hosts[0].devices[4].memory_bytes")));
  }
}

}  // namespace
}  // namespace trainyard::process
