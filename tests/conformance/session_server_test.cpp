// SPDX-License-Identifier: GPL-3.0-or-later
// Coordinator, workers and servers together, without a process or a socket: how a run is steered whose ranks have no steps in common.
#include <gmock/gmock.h>

#include "tests/conformance/session_run.h"
#include "tests/conformance/session_viewer.h"

namespace trainyard::conformance {
namespace {

using experiment::ServerMode;
using session::Command;
using session::RunState;
using session::Status;

experiment::Experiment served(ServerMode mode, std::int64_t steps = kEndless) {
  experiment::Experiment e = session_experiment(5, steps);
  e.topology.hosts[0].devices[1].role = e.topology.hosts[0].devices[3].role = topology::Role::parameter_server;
  e.strategy.kind = experiment::StrategyKind::parameter_server;
  e.strategy.servers.mode = mode;
  e.training.batch_per_rank = 8;
  return e;
}

class SessionWithServers : public testing::TestWithParam<ServerMode> {};
INSTANTIATE_TEST_SUITE_P(Modes, SessionWithServers,
                         testing::Values(ServerMode::asynchronous, ServerMode::synchronous, ServerMode::softsync, ServerMode::stale_synchronous,
                                         ServerMode::backup_workers));

TEST_P(SessionWithServers, a_pause_lets_what_is_under_way_end_and_resume_goes_on) {
  SessionRun run(served(GetParam()));
  Viewer viewer(run.client());
  viewer.wait_for_step(3);
  viewer.ask(Command::pause);
  const Status paused = viewer.wait_for(RunState::paused);
  EXPECT_EQ(paused.step, paused.horizon);
  viewer.ask(Command::resume);
  viewer.wait_for_step(paused.step + 5);
}

TEST_P(SessionWithServers, a_single_step_is_one_step) {
  SessionRun run(served(GetParam()));
  Viewer viewer(run.client());
  viewer.wait_for_step(1);
  viewer.ask(Command::pause);
  const std::int64_t at = viewer.wait_for(RunState::paused).step;
  for (int i = 1; i <= 3; ++i) {
    viewer.ask(Command::single_step);
    const Status after = viewer.wait_until([&](const Status& s) { return s.state == RunState::paused && s.step > at + i - 1; });
    EXPECT_EQ(after.step, at + i);
  }
}

TEST_P(SessionWithServers, a_stop_ends_in_order_with_one_set_of_weights) {
  SessionRun run(served(GetParam()));
  Viewer viewer(run.client());
  viewer.wait_for_step(4);
  viewer.ask(Command::stop);
  EXPECT_EQ(state_of(run.result()), "stopped");
}

TEST_P(SessionWithServers, a_run_comes_to_its_end_and_says_every_step) {
  SessionRun run(served(GetParam(), 60));
  EXPECT_EQ(state_of(run.result()), "finished");
  const auto history = telemetry::History::load(run.directory());
  ASSERT_TRUE(history);
  ASSERT_EQ(history->train_loss().size(), 60u);
  for (std::size_t i = 0; i < 60; ++i) EXPECT_EQ(history->train_loss()[i].step, static_cast<std::int32_t>(i));
  ASSERT_FALSE(history->held_out_loss().empty());
  EXPECT_EQ(history->held_out_loss().back().step, 59) << "by the final parameters";
}

}  // namespace
}  // namespace trainyard::conformance
