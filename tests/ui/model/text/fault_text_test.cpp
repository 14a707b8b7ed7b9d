// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/text/fault_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/experiment/fields.h"
#include "tests/drawings.h"

namespace trainyard::ui {
namespace {

using experiment::ServerMode;
using experiment::StrategyKind;
using testing::ElementsAre;

std::vector<std::string> lines(const experiment::Experiment& experiment) {
  std::vector<std::string> all;
  for (const RoleFailure& line : when_ranks_fail(experiment))
    all.push_back((line.role + ": " + line.others + "; " + line.back).toStdString());
  return all;
}

// Four workers, and one server where there are servers.
experiment::Experiment of(StrategyKind kind) {
  experiment::Experiment experiment;
  experiment.strategy.kind = kind;
  experiment.topology.hosts.push_back(
      tests::drawn_host("host0", kind == StrategyKind::one_device ? 1 : 4));
  if (kind == StrategyKind::central_storage) experiment.topology = tests::drawn_storage(3);
  if (kind != StrategyKind::parameter_server) return experiment;
  topology::Device server;
  server.name = "server", server.role = topology::Role::parameter_server;
  experiment.topology.hosts[0].devices.push_back(server);
  return experiment;
}

experiment::Experiment served(ServerMode mode) {
  experiment::Experiment experiment = of(StrategyKind::parameter_server);
  experiment.strategy.servers.mode = mode;
  return experiment;
}

const std::string kEnds = ": the run ends and names the failed rank; not in this run";
const std::string kEndsServed =
    kEnds + "; without run.checkpoint_every_steps its training state is lost";
const std::string kEndsKept =
    kEnds + "; another run can resume from its last checkpoint (run.resume_from)";
const std::string kBack = "; by Restart on the device; automatic with run.restarts";

TEST(WhenRanksFail, of_every_strategy_without_servers_the_run_ends) {
  for (const auto& [kind, name] : base::Names<StrategyKind>::table) {
    if (kind == StrategyKind::parameter_server) continue;
    std::vector<std::string> wanted{"chief (rank 0)" + kEnds, "other workers" + kEnds};
    if (kind == StrategyKind::one_device) wanted = {"the only rank" + kEnds};
    if (kind == StrategyKind::central_storage)
      wanted = {"chief (rank 1)" + kEnds, "other workers" + kEnds, "storage (rank 0)" + kEnds};
    EXPECT_EQ(lines(of(kind)), wanted) << name;
  }
}

TEST(WhenRanksFail, an_evaluator_is_missed_by_nobody_who_trains) {
  experiment::Experiment e = served(ServerMode::synchronous);
  e.topology.hosts[0].devices[1].role = topology::Role::evaluator;
  e.topology.hosts[0].devices[2].role = topology::Role::chief;
  const auto said = lines(e);
  ASSERT_EQ(said.size(), 4u);
  EXPECT_EQ(said[0], "chief (rank 1)" + kEndsKept)
      << "ranks are workers first; and servers write checkpoints for the evaluator";
  EXPECT_EQ(said[2], "parameter server" + kEndsKept);
  EXPECT_EQ(
      said[3],
      "evaluator: training continues; held-out samples are not measured until it rejoins" + kBack);
  session::Status status;
  status.state = session::RunState::running;
  for (int rank = 0; rank < 5; ++rank) {
    status.ranks.emplace_back();
    status.ranks.back().rank = rank, status.ranks.back().state = rank == 4 ? "lost" : "running";
  }
  EXPECT_TRUE(faults_of_rank(e, status, 4).restart);
  status.ranks[4].state = "waiting";
  const RankFaults offered = faults_of_rank(e, status, 4);
  EXPECT_TRUE(offered.kill && offered.spared);
  EXPECT_EQ(offered.outcome.toStdString(), "training continues; held-out samples are not measured");
  EXPECT_FALSE(faults_of_rank(e, status, 3).spared) << "the server";
}

TEST(WhenRanksFail, of_servers_out_of_step_the_others_go_on_down_to_the_last) {
  for (const ServerMode mode :
       {ServerMode::asynchronous, ServerMode::softsync, ServerMode::stale_synchronous}) {
    const std::string on = ": the others continue, down to the last worker" + kBack;
    EXPECT_THAT(lines(served(mode)), ElementsAre("chief (rank 0)" + on, "other workers" + on,
                                                 "parameter server" + kEndsServed))
        << base::name_of(mode);
  }
}

TEST(WhenRanksFail, in_step_only_backup_workers_are_spared_as_many_as_there_are) {
  EXPECT_THAT(lines(served(ServerMode::synchronous)),
              ElementsAre("chief (rank 0)" + kEndsServed, "other workers" + kEndsServed,
                          "parameter server" + kEndsServed));
  experiment::Experiment backups = served(ServerMode::backup_workers);
  backups.strategy.servers.backups = 1;
  const std::string on =
      ": the others continue with at least 3 workers: each update needs that many gradients" +
      kBack;
  EXPECT_THAT(lines(backups), ElementsAre("chief (rank 0)" + on, "other workers" + on,
                                          "parameter server" + kEndsServed));
  backups.strategy.servers.backups = 0;
  EXPECT_EQ(lines(backups).front(), "chief (rank 0)" + kEndsServed);
}

TEST(WhenRanksFail, another_run_goes_on_only_where_checkpoints_are_written_meanwhile) {
  experiment::Experiment e = served(ServerMode::synchronous);
  for (const auto& [every, ends] :
       {std::pair(std::int64_t{0}, kEndsServed), std::pair(std::int64_t{20}, kEndsKept)}) {
    e.run.checkpoint_every_steps = every;
    EXPECT_THAT(lines(e), ElementsAre("chief (rank 0)" + ends, "other workers" + ends,
                                      "parameter server" + ends))
        << every;
  }
}

TEST(WhenRanksFail, restarts_are_said_where_they_are_made) {
  experiment::Experiment again = served(ServerMode::asynchronous);
  again.run.restarts = 1;
  EXPECT_THAT(lines(again).front(),
              testing::EndsWith(
                  "; automatic (1 restart in total, run.restarts), then by Restart on the device"));
  EXPECT_THAT(lines(again).back(), testing::EndsWith(kEndsServed)) << "no server is";
}

TEST(WhenRanksFail, threads_of_one_process_fail_together) {
  for (const bool inproc : {true, false}) {
    experiment::Experiment together = served(ServerMode::asynchronous);
    if (inproc) together.run.transport = experiment::TransportKind::inproc;
    else together.run.clock = experiment::RunClock::virtual_time;
    EXPECT_THAT(
        lines(together),
        ElementsAre(
            "every rank: all ranks fail: they are threads of one process; not in this run"));
  }
}

TEST(WhenRanksFail, a_drawing_without_workers_has_nobody_to_fail) {
  experiment::Experiment empty;
  EXPECT_TRUE(when_ranks_fail(empty).empty());
  EXPECT_TRUE(when_ranks_fail(experiment::Experiment{}).empty());
}

class FaultsOfRank : public testing::Test {
 protected:
  FaultsOfRank() {
    for (int rank = 0; rank < 5; ++rank)
      status_.ranks.push_back({rank, "running", 7, "F.s0", -1, 100 + rank});
    status_.state = session::RunState::running;
  }
  RankFaults offered(int rank) const { return faults_of_rank(experiment_, status_, rank); }
  // "kill stall wake restart", those that are.
  std::string enabled(int rank) const {
    const RankFaults of = offered(rank);
    return std::string(of.kill ? "kill " : "") + (of.stall ? "stall " : "") +
           (of.wake ? "wake " : "") + (of.restart ? "restart " : "");
  }
  experiment::Experiment experiment_ = served(ServerMode::asynchronous);
  session::Status status_;
};

TEST_F(FaultsOfRank, are_those_that_its_state_has_room_for) {
  EXPECT_EQ(enabled(1), "kill stall ");
  const std::pair<const char*, const char*> states[] = {{"waiting", "kill stall "},
                                                        {"paused", "kill stall "},
                                                        {"stalled", "kill wake "},
                                                        {"lost", "restart "},
                                                        {"returning", ""},
                                                        {"finished", ""},
                                                        {"starting", ""}};
  for (const auto& [state, wanted] : states) {
    status_.ranks[1].state = state;
    EXPECT_EQ(enabled(1), wanted) << state;
  }
  EXPECT_EQ(enabled(7), "") << "there is none";
}

TEST_F(FaultsOfRank, are_none_before_training_and_after_it_and_where_ranks_are_threads) {
  using session::RunState;
  for (const RunState state : {RunState::starting, RunState::finished, RunState::stopped,
                               RunState::failed, RunState::canceled}) {
    status_.state = state;
    EXPECT_EQ(enabled(1), "") << base::name_of(state);
  }
  for (const RunState state :
       {RunState::running, RunState::pausing, RunState::paused, RunState::stopping}) {
    status_.state = state;
    EXPECT_EQ(enabled(1), "kill stall ") << base::name_of(state);
  }
  experiment_.run.transport = experiment::TransportKind::inproc;
  EXPECT_EQ(enabled(1), "");
  EXPECT_EQ(offered(1).outcome, "a rank cannot fail alone: all ranks are threads of one process");
}

TEST_F(FaultsOfRank, say_what_comes_of_the_loss_by_those_that_are_left) {
  EXPECT_EQ(offered(1).outcome, "training continues with 3 other workers");
  status_.ranks[0].state = "lost", status_.ranks[2].state = "returning";
  EXPECT_EQ(offered(1).outcome, "training continues with 1 other worker");
  EXPECT_TRUE(offered(1).spared);
  status_.ranks[3].state = "lost";
  EXPECT_EQ(offered(1).outcome, "ends the run: too few workers would remain");
  EXPECT_FALSE(offered(1).spared);
  EXPECT_EQ(offered(4).outcome, "ends the run") << "the server";
  EXPECT_EQ(enabled(4), "kill stall ");
  experiment_ = served(ServerMode::synchronous);
  EXPECT_EQ(offered(0).outcome, "ends the run");
}

}  // namespace
}  // namespace trainyard::ui
