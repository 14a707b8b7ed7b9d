// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of tables that samples name, pulled and pushed by real processes: lost workers, the virtual
// clock, and the summary of a run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "watched_run.h"

namespace trainyard::process {
namespace {

using base::Json;

const std::string kClicks = example("four_devices_mirrored_clicks");

// Two workers and two servers, which share the table's 20,000 rows.
std::vector<std::string> served(const std::string& mode, std::vector<std::string> more = {}) {
  more.insert(more.end(), {"strategy.kind=parameter_server", "strategy.servers.mode=" + mode,
                           "topology.hosts[0].devices[0].role=parameter_server",
                           "topology.hosts[0].devices[2].role=parameter_server"});
  return more;
}

std::string weights_made_again(const Json& result) {
  const Ran again =
      cli({"replay", result["run_directory"].get<std::string>(), "--recompute", "--json"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  return again.exit_code == 0 ? again.result()["parameters_xxh64"] : "";
}

TEST(TableRowFaults, lost_worker_leaves_no_rows) {
  for (const char* transport : {"shm", "zmq"}) {
    const Home home;
    Watched run(
        home, kClicks,
        served("asynchronous", {std::string("run.transport=") + transport, "run.restarts=1"}));
    ASSERT_TRUE(run.trains());
    const pid_t before = run.process(0);
    run.harm(0, SIGKILL);
    EXPECT_TRUE(wait_until(promised, [&] { return run.process(0) != before; }));
    EXPECT_TRUE(run.is_back(0));
    EXPECT_TRUE(run.goes_on());
    run.harm(1, SIGSTOP);
    EXPECT_TRUE(run.goes_on()) << "a suspended worker keeps one version and its rows";
    const Ran ran = run.stop();
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(weights_made_again(ran.result()), ran.result()["ranks"][0]["parameters_xxh64"]);
  }
}

// Both may have been answered and not have named their rows: no server waits for what will not
// come.
TEST(TableRowFaults, two_workers_lost_together_do_not_block_the_run) {
  for (int time = 0; time < 4; ++time) {
    const Home home;
    Watched run(
        home, example("wide_and_deep_clicks"),
        {std::string("run.transport=") + (time % 2 == 0 ? "shm" : "zmq"), "run.hang_seconds=8"});
    ASSERT_TRUE(run.trains());
    for (const int worker : {0, 1}) run.harm(worker, time < 2 ? SIGKILL : SIGSTOP);
    for (const int worker : {0, 1}) EXPECT_TRUE(run.becomes(worker, "lost", 2 * promised));
    EXPECT_TRUE(run.goes_on());
    const Ran ran = run.stop();
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(weights_made_again(ran.result()), ran.result()["ranks"][2]["parameters_xxh64"]);
  }
}

// The virtual clock counts the rows that samples name: the bytes equal those of a real run with the
// same rounds.
TEST(TableRows, of_a_virtual_run_are_counted_as_sent) {
  const Home home;
  const Json drawn =
      completed(short_run(kClicks, 60, served("synchronous", {"run.clock=virtual"})));
  const Json real = completed(short_run(kClicks, 60, served("synchronous")));
  EXPECT_EQ(drawn["ranks"][0]["parameters_xxh64"], real["ranks"][0]["parameters_xxh64"]);
  EXPECT_NEAR(drawn["tables"]["ratio"].get<double>(), real["tables"]["ratio"].get<double>(), 1e-9);
}

TEST(TableRows, are_printed_in_the_result) {
  const Home home;
  std::vector<std::string> arguments = short_run(kClicks, 40, served("asynchronous"));
  std::erase(arguments, "--json");
  const Ran ran = cli(arguments);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, testing::ContainsRegex("\n  tables +[0-9.]+x "));
}

}  // namespace
}  // namespace trainyard::process
