// SPDX-License-Identifier: GPL-3.0-or-later
// Workers of parameter servers that die or are stopped: the others continue if they can, and a
// restarted worker rejoins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "core/session/protocol/messages.h"
#include "examples.h"
#include "watched_run.h"

namespace trainyard::process {
namespace {

using base::Json;
using session::Command;
using session::RankStatus;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

// All that are there at the end have the same weights, and what servers wrote down makes them
// again.
void expect_whole(const Ran& ran, const std::vector<int>& missing = {}) {
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const Json result = ran.result();
  EXPECT_EQ(result["status"], "stopped");
  std::set<std::string> weights;
  for (const Json& rank : result["ranks"]) {
    const bool lost =
        std::find(missing.begin(), missing.end(), rank["rank"].get<int>()) != missing.end();
    EXPECT_EQ(rank["parameters_xxh64"].is_null(), lost || rank["role"] == "parameter_server")
        << rank;
    if (!rank["parameters_xxh64"].is_null()) weights.insert(rank["parameters_xxh64"]);
  }
  EXPECT_EQ(weights.size(), 1u);
  const Ran again =
      cli({"replay", result["run_directory"].get<std::string>(), "--recompute", "--json"});
  ASSERT_EQ(again.exit_code, 0) << again.err << again.out;
  EXPECT_EQ(again.result()["parameters_xxh64"], *weights.begin())
      << "gradients that no loss and no rejoin has reordered";
}

class LostWorker : public testing::TestWithParam<std::string> {
 protected:
  std::vector<std::string> with(std::vector<std::string> overrides = {}) const {
    overrides.push_back("run.transport=" + GetParam());
    return overrides;
  }
};
INSTANTIATE_TEST_SUITE_P(Faults, LostWorker, testing::Values("shm", "zmq"));

TEST_P(LostWorker, leaves_the_other_workers_running) {
  const Home home;
  Watched run(home, kServed, with());
  ASSERT_TRUE(run.trains());
  run.harm(2, SIGKILL);
  EXPECT_TRUE(run.becomes(2, "lost"));
  EXPECT_TRUE(run.goes_on());
  const Ran ran = run.stop();
  expect_whole(ran, {2});
  EXPECT_THAT(kinds(ran.result()), ElementsAre("lost 2"));
  EXPECT_THAT(read(run.directory() / "run.log"), HasSubstr("rank 2 (host0/cpu2)  warning: "));
}

TEST_P(LostWorker, that_is_suspended_is_lost) {
  const Home home;
  Watched run(home, kServed, with());
  ASSERT_TRUE(run.trains());
  const pid_t stopped = run.process(1);
  run.harm(1, SIGSTOP);
  EXPECT_TRUE(run.becomes(1, "lost", 2 * promised));
  EXPECT_TRUE(wait_until_gone(stopped, promised))
      << "it will not resume and act as its replacement";
  EXPECT_TRUE(run.goes_on());
  expect_whole(run.stop(), {1});
}

TEST_P(LostWorker, is_restarted_up_to_the_limit) {
  const Home home;
  Watched run(home, kServed, with({"run.restarts=3"}));
  ASSERT_TRUE(run.trains());
  for (int loss = 0; loss < 3; ++loss) {
    const pid_t before = run.process(0);
    run.harm(0, SIGKILL);
    EXPECT_TRUE(wait_until(promised, [&] { return run.process(0) != before; }));
    EXPECT_TRUE(run.is_back(0));
    EXPECT_TRUE(run.goes_on(20));
  }
  run.harm(0, SIGKILL);
  EXPECT_TRUE(run.becomes(0, "lost"));
  EXPECT_TRUE(run.goes_on(20));
  const Ran ran = run.stop();
  expect_whole(ran, {0});
  EXPECT_THAT(kinds(ran.result()),
              ElementsAre("lost 0", "back 0", "lost 0", "back 0", "lost 0", "back 0", "lost 0"));
}

TEST_P(LostWorker, is_restarted_on_request) {
  const Home home;
  Watched run(
      home, kServed,
      with({"topology.hosts[0].devices[3].role=parameter_server"}));  // three workers, two servers
  ASSERT_TRUE(run.trains());
  run.ask(Command::restart, 1);
  run.ask(Command::kill, 1);
  EXPECT_TRUE(run.becomes(1, "lost")) << "the rank was killed after the restart";
  EXPECT_TRUE(run.goes_on());
  run.ask(Command::restart, 1);
  EXPECT_TRUE(run.is_back(1));
  EXPECT_TRUE(run.goes_on());
  const Ran ran = run.stop();
  expect_whole(ran);
  EXPECT_THAT(kinds(ran.result()), ElementsAre("killed 1", "lost 1", "back 1"));
  const std::string table = home.scratch() / "run.csv";
  ASSERT_EQ(cli({"export", ran.result()["run_directory"].get<std::string>(), "--format", "csv",
                 "--out", table})
                .exit_code,
            0);
  EXPECT_THAT(read(table),
              ContainsRegex("\nfault_killed,1,0,[0-9]+,[0-9.]+,1,.*\nfault_"
                            "lost,1,0,[0-9]+,[0-9.]+,1,.*\nfault_back,1,0,[0-9]+,[0-9.]+,1,"))
      << "the same faults as in charts and in the result";
}

// It dies at any moment: one server may have its gradient then, and the other never will. Shares
// are small, so that this is most of a round.
TEST_P(LostWorker, whose_gradient_only_one_server_has_does_not_block_the_end) {
  const Home home;
  Watched run(home, kServed,
              with({"topology.hosts[0].devices[3].role=parameter_server",
                    "strategy.bucket_bytes=50000", "run.restarts=8"}));
  ASSERT_TRUE(run.trains());
  for (int loss = 0; loss < 8; ++loss) {
    const pid_t before = run.process(1);
    run.harm(1, SIGKILL);
    ASSERT_TRUE(wait_until(promised, [&] { return run.process(1) != before; }));
    ASSERT_TRUE(run.is_back(1));
    ASSERT_TRUE(run.goes_on(5 + loss));
  }
  expect_whole(run.stop());
}

TEST_P(LostWorker, in_bounded_mode_is_no_longer_waited_for) {
  const Home home;
  Watched run(home, kServed,
              with({"strategy.servers.mode=stale_synchronous", "strategy.servers.bound=1",
                    "topology.hosts[0].devices[2].slow_down=3"}));
  ASSERT_TRUE(run.trains());
  run.harm(2, SIGKILL);
  EXPECT_TRUE(run.goes_on());
  expect_whole(run.stop(), {2});
}

TEST_P(LostWorker, in_lockstep_is_replaced_by_backup_workers) {
  const Home home;
  Watched run(home, kServed,
              with({"strategy.servers.mode=backup_workers", "strategy.servers.backups=1",
                    "run.restarts=1"}));
  ASSERT_TRUE(run.trains());
  run.harm(3, SIGKILL);
  EXPECT_TRUE(run.goes_on());
  EXPECT_TRUE(run.is_back(3));
  EXPECT_TRUE(run.goes_on());
  run.harm(3, SIGKILL);
  EXPECT_TRUE(run.becomes(3, "lost"));
  run.harm(1, SIGKILL);
  const Ran ran = run.end();
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.problems(), ElementsAre(Pair("rank_died", "rank 1 (host0/cpu1)")))
      << "two of four are too few for updates of three";
}

TEST_P(LostWorker, that_was_the_last_ends_the_run) {
  const Home home;
  Watched run(home, kServed, with());
  ASSERT_TRUE(run.trains());
  for (int rank = 0; rank < 3; ++rank) {
    run.harm(rank, SIGKILL);
    EXPECT_TRUE(run.becomes(rank, "lost"));
  }
  EXPECT_TRUE(run.goes_on(20)) << "one rank continues alone";
  run.harm(3, SIGKILL);
  const Ran ran = run.end();
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.problems(), ElementsAre(Pair("rank_died", "rank 3 (host0/cpu3)")));
  EXPECT_THAT(kinds(ran.result()), ElementsAre("lost 0", "lost 1", "lost 2"));
}

TEST_P(LostWorker, that_was_only_suspended_briefly_is_not_lost) {
  const Home home;
  Watched run(home, kServed, with());
  ASSERT_TRUE(run.trains());
  run.ask(Command::stall, 2);
  EXPECT_EQ(run.state(2), "stalled");
  EXPECT_TRUE(run.goes_on(20));
  run.ask(Command::wake, 2);
  EXPECT_TRUE(run.is_back(2));
  EXPECT_TRUE(run.goes_on(20));
  const Ran ran = run.stop();
  expect_whole(ran);
  EXPECT_THAT(kinds(ran.result()), ElementsAre("stalled 2", "awake 2"));
}

TEST(RanksOfOneProcess, cannot_be_killed_individually) {
  for (const std::string shared : {"run.transport=inproc", "run.clock=virtual"}) {
    const Home home;
    Watched run(home, kServed, {shared});
    ASSERT_TRUE(run.trains());
    run.ask(Command::kill, 1);
    run.ask(Command::stall, 1);
    EXPECT_TRUE(run.goes_on(20)) << shared;
    const Ran ran = run.stop();
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_THAT(kinds(ran.result()), testing::IsEmpty());
    EXPECT_THAT(read(run.directory() / "run.log"),
                testing::ContainsRegex("rank 1 \\([^\n]*\\)  warning: "));
  }
}

}  // namespace
}  // namespace trainyard::process
