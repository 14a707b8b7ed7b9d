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
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::vector<std::string> lines(const experiment::Experiment& experiment) {
  std::vector<std::string> all;
  for (const RoleFailure& line : when_ranks_fail(experiment))
    all.push_back((line.role + ": " + line.others + "; " + line.back).toStdString());
  return all;
}

// Matches a line of `role` that states the end of the run, without a restart of the rank.
auto Ends(const std::string& role, const std::string& detail = "") {
  return AllOf(StartsWith(role + ": "), HasSubstr("the run ends"), HasSubstr(detail),
               Not(HasSubstr("Restart")));
}

// Lost training state, and a run that can be resumed.
const std::string kLost = "run.checkpoint_every_steps", kKept = "run.resume_from";

// Matches a line of `role` that states that other ranks continue until the rank is restarted.
auto Continues(const std::string& role, const std::string& detail) {
  return AllOf(StartsWith(role + ": "), HasSubstr(detail), HasSubstr("run.restarts"),
               Not(HasSubstr("the run ends")));
}

// Four workers, and one server if the strategy has servers.
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

TEST(RankFailure, ends_the_run_of_every_strategy_without_servers) {
  for (const auto& [kind, name] : base::Names<StrategyKind>::table) {
    if (kind == StrategyKind::parameter_server) continue;
    SCOPED_TRACE(name);
    if (kind == StrategyKind::one_device) {
      EXPECT_THAT(lines(of(kind)), ElementsAre(Ends("the only rank")));
    } else if (kind == StrategyKind::central_storage) {
      EXPECT_THAT(lines(of(kind)), ElementsAre(Ends("chief (rank 1)"), Ends("other workers"),
                                               Ends("storage (rank 0)")));
    } else {
      EXPECT_THAT(lines(of(kind)), ElementsAre(Ends("chief (rank 0)"), Ends("other workers")));
    }
  }
}

TEST(RankFailure, does_not_stop_training_if_the_rank_is_an_evaluator) {
  experiment::Experiment e = served(ServerMode::synchronous);
  e.topology.hosts[0].devices[1].role = topology::Role::evaluator;
  e.topology.hosts[0].devices[2].role = topology::Role::chief;
  EXPECT_THAT(lines(e), ElementsAre(Ends("chief (rank 1)", kKept), Ends("other workers", kKept),
                                    Ends("parameter server", kKept),
                                    Continues("evaluator", "held-out samples")))
      << "servers write checkpoints for the evaluator";
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
  EXPECT_TRUE(offered.outcome.contains("held-out samples"));
  EXPECT_FALSE(faults_of_rank(e, status, 3).spared) << "the server";
}

TEST(RankFailure, leaves_other_workers_of_asynchronous_servers_running) {
  for (const ServerMode mode :
       {ServerMode::asynchronous, ServerMode::softsync, ServerMode::stale_synchronous}) {
    EXPECT_THAT(lines(served(mode)), ElementsAre(Continues("chief (rank 0)", "last worker"),
                                                 Continues("other workers", "last worker"),
                                                 Ends("parameter server", kLost)))
        << base::name_of(mode);
  }
}

TEST(RankFailure, ends_synchronous_runs_without_backup_workers) {
  EXPECT_THAT(lines(served(ServerMode::synchronous)),
              ElementsAre(Ends("chief (rank 0)", kLost), Ends("other workers", kLost),
                          Ends("parameter server", kLost)));
  experiment::Experiment backups = served(ServerMode::backup_workers);
  backups.strategy.servers.backups = 1;
  EXPECT_THAT(lines(backups), ElementsAre(Continues("chief (rank 0)", "at least 3 workers"),
                                          Continues("other workers", "at least 3 workers"),
                                          Ends("parameter server", kLost)));
  backups.strategy.servers.backups = 0;
  EXPECT_THAT(lines(backups).front(), Ends("chief (rank 0)", kLost));
}

TEST(RankFailure, allows_resuming_only_with_checkpoints) {
  experiment::Experiment e = served(ServerMode::synchronous);
  for (const auto& [every, state] :
       {std::pair(std::int64_t{0}, kLost), std::pair(std::int64_t{20}, kKept)}) {
    e.run.checkpoint_every_steps = every;
    EXPECT_THAT(lines(e), ElementsAre(Ends("chief (rank 0)", state), Ends("other workers", state),
                                      Ends("parameter server", state)))
        << every;
  }
}

TEST(RankFailure, text_states_restarts_if_the_strategy_supports_them) {
  experiment::Experiment e = served(ServerMode::asynchronous);
  e.run.restarts = 1;
  EXPECT_THAT(lines(e).front(), Continues("chief (rank 0)", "1 restart in total"));
  EXPECT_THAT(lines(e).back(), Ends("parameter server", kLost)) << "servers are not restarted";
}

TEST(RankFailure, affects_all_threads_of_a_process) {
  for (const bool inproc : {true, false}) {
    experiment::Experiment together = served(ServerMode::asynchronous);
    if (inproc) together.run.transport = experiment::TransportKind::inproc;
    else together.run.clock = experiment::RunClock::virtual_time;
    EXPECT_THAT(lines(together),
                ElementsAre(AllOf(StartsWith("every rank: "), HasSubstr("one process"))));
  }
}

TEST(RankFailure, has_no_text_without_workers) {
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
  // Returns the enabled faults, for example "kill stall ".
  std::string enabled(int rank) const {
    const RankFaults of = offered(rank);
    return std::string(of.kill ? "kill " : "") + (of.stall ? "stall " : "") +
           (of.wake ? "wake " : "") + (of.restart ? "restart " : "");
  }
  experiment::Experiment experiment_ = served(ServerMode::asynchronous);
  session::Status status_;
};

TEST_F(FaultsOfRank, depend_on_its_state) {
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
  EXPECT_EQ(enabled(7), "") << "the rank does not exist";
}

TEST_F(FaultsOfRank, are_unavailable_outside_training_and_for_threads) {
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
  EXPECT_TRUE(offered(1).outcome.contains("one process"));
}

TEST_F(FaultsOfRank, state_the_outcome_by_the_remaining_workers) {
  EXPECT_TRUE(offered(1).outcome.contains("3 other workers"));
  status_.ranks[0].state = "lost", status_.ranks[2].state = "returning";
  EXPECT_TRUE(offered(1).outcome.endsWith("1 other worker"));
  EXPECT_TRUE(offered(1).spared);
  status_.ranks[3].state = "lost";
  EXPECT_TRUE(offered(1).outcome.contains("too few workers"));
  EXPECT_FALSE(offered(1).spared);
  EXPECT_EQ(offered(4).outcome, "ends the run") << "the server";
  EXPECT_EQ(enabled(4), "kill stall ");
  experiment_ = served(ServerMode::synchronous);
  EXPECT_EQ(offered(0).outcome, "ends the run");
}

}  // namespace
}  // namespace trainyard::ui
