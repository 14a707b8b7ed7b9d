// SPDX-License-Identifier: GPL-3.0-or-later
// Coordinator, workers and servers together, without a process or a socket: how a run is steered
// whose ranks have no steps in common.
#include <gmock/gmock.h>

#include <fstream>

#include "core/experiment/fields.h"
#include "core/session/coordinator/journal.h"
#include "tests/conformance/session_run.h"
#include "tests/conformance/session_viewer.h"
#include "tests/problem_matchers.h"

namespace trainyard::conformance {
namespace {

using experiment::ServerMode;
using session::Command;
using session::RunState;
using session::Status;

experiment::Experiment served(ServerMode mode, std::int64_t steps = kEndless) {
  experiment::Experiment e = session_experiment(5, steps);
  e.topology.hosts[0].devices[1].role = topology::Role::parameter_server;
  e.topology.hosts[0].devices[3].role =
      mode == ServerMode::backup_workers ? topology::Role::idle : topology::Role::parameter_server;
  e.strategy.kind = experiment::StrategyKind::parameter_server;
  e.strategy.servers.mode = mode;
  e.training.batch_per_rank = 8;
  return e;
}

using experiment::RunClock;

// Both clocks: the speed of threads, and virtual time. Commands have the same effect.
class SessionWithServers : public testing::TestWithParam<std::tuple<ServerMode, RunClock>> {
 protected:
  static experiment::Experiment experiment(std::int64_t steps = kEndless) {
    experiment::Experiment e = served(std::get<0>(GetParam()), steps);
    e.run.clock = std::get<1>(GetParam());
    return e;
  }
};
INSTANTIATE_TEST_SUITE_P(
    Modes, SessionWithServers,
    testing::Combine(testing::Values(ServerMode::asynchronous, ServerMode::synchronous,
                                     ServerMode::softsync, ServerMode::stale_synchronous,
                                     ServerMode::backup_workers),
                     testing::Values(RunClock::machine, RunClock::virtual_time)),
    [](const auto& one) {
      return std::string(base::name_of(std::get<0>(one.param))) + "_" +
             std::string(base::name_of(std::get<1>(one.param)));
    });

TEST_P(SessionWithServers, pause_completes_work_in_progress_and_resume_continues) {
  SessionRun run(experiment());
  Viewer viewer(run.client());
  viewer.wait_for_step(3);
  viewer.ask(Command::pause);
  const Status paused = viewer.wait_for(RunState::paused);
  EXPECT_EQ(paused.step, paused.horizon);
  viewer.ask(Command::resume);
  viewer.wait_for_step(paused.step + 5);
}

TEST_P(SessionWithServers, a_single_step_is_one_step) {
  SessionRun run(experiment());
  Viewer viewer(run.client());
  viewer.wait_for_step(1);
  viewer.ask(Command::pause);
  const std::int64_t at = viewer.wait_for(RunState::paused).step;
  for (int i = 1; i <= 3; ++i) {
    viewer.ask(Command::single_step);
    const Status after = viewer.wait_until(
        [&](const Status& s) { return s.state == RunState::paused && s.step > at + i - 1; });
    EXPECT_EQ(after.step, at + i);
  }
}

TEST_P(SessionWithServers, stop_ends_cleanly_with_equal_weights) {
  SessionRun run(experiment());
  Viewer viewer(run.client());
  viewer.wait_for_step(4);
  viewer.ask(Command::stop);
  EXPECT_EQ(state_of(run.result()), "stopped");
}

TEST_P(SessionWithServers, runs_to_the_end_and_reports_every_step) {
  SessionRun run(experiment(60));
  EXPECT_EQ(state_of(run.result()), "finished");
  const auto history = telemetry::History::load(run.directory());
  ASSERT_TRUE(history);
  ASSERT_EQ(history->train_loss().size(), 60u);
  for (std::size_t i = 0; i < 60; ++i)
    EXPECT_EQ(history->train_loss()[i].step, static_cast<std::int32_t>(i));
  ASSERT_FALSE(history->held_out_loss().empty());
  EXPECT_EQ(history->held_out_loss().back().step, 59) << "by the final parameters";
}

TEST_P(SessionWithServers, replay_follows_the_recorded_order) {
  SessionRun run(experiment(60));
  const auto outcome = run.result();
  ASSERT_EQ(state_of(outcome), "finished");
  const auto again =
      session::replay_run(outcome.result["run_directory"].get<std::string>(), replay_services());
  ASSERT_TRUE(again) << base::to_string(again.error());
  EXPECT_GE(again->gradients, 60);
  EXPECT_EQ(again->skipped_events, 0);
  ASSERT_TRUE(again->compared());
  EXPECT_EQ(again->weights.size(), 3u) << "of every worker";
  for (const auto& rank : again->weights) EXPECT_EQ(rank.parameters_xxh64, rank.recorded_xxh64);
}

TEST(SessionOrder, is_reproducible_on_the_virtual_clock) {
  experiment::Experiment e = served(ServerMode::asynchronous, 60);
  e.run.clock = RunClock::virtual_time;
  e.topology.hosts[0].devices[0].slow_down = 3;
  const auto weights = [&] {
    return SessionRun(e).result().result["ranks"][0]["parameters_xxh64"].get<std::string>();
  };
  const std::string once = weights();
  EXPECT_NE(once, "");
  EXPECT_EQ(once, weights());
}

// However long its rounds are drawn: all workers compute, and none waits for the coordinator to let
// it.
TEST(SessionOrder, on_the_virtual_clock_slow_workers_are_as_stale_as_fast_ones) {
  experiment::Experiment e = served(ServerMode::asynchronous, 240);
  e.run.clock = RunClock::virtual_time;
  for (topology::Device& device : e.topology.hosts[0].devices) {
    device.jitter = 0.3;
    if (device.role == topology::Role::worker) device.peak_flops = 1e3;
  }
  const auto outcome = SessionRun(e).result();
  ASSERT_EQ(state_of(outcome), "finished");
  EXPECT_NEAR(outcome.result["staleness"]["mean"].get<double>(), 2, 0.06);
}

// A second of this machine corresponds to many drawn ones here. States and log use the same clock
// as the charts.
TEST(SessionOrder, on_the_virtual_clock_states_and_log_have_virtual_times) {
  experiment::Experiment e = served(ServerMode::asynchronous);
  e.run.clock = RunClock::virtual_time;
  for (topology::Device& device : e.topology.hosts[0].devices)
    if (device.role == topology::Role::worker) device.peak_flops = 1e3;
  SessionRun run(e);
  Viewer viewer(run.client());
  viewer.wait_for_step(40);
  session::Ask slow;
  slow.id = viewer.next_id(), slow.command = Command::slow, slow.slow = {0, 2, 0};
  viewer.wait_for_step(viewer.send(slow).step + 100);
  viewer.ask(Command::stop);
  ASSERT_EQ(state_of(run.result()), "stopped");
  const auto history = telemetry::History::load(run.directory());
  ASSERT_TRUE(history);
  ASSERT_EQ(history->faults().size(), 1u);
  const telemetry::Fault& fault = history->faults()[0];
  const auto& losses = history->train_loss();
  const auto before = std::find_if(losses.begin(), losses.end(),
                                   [&](const auto& loss) { return loss.step + 20 >= fault.step; });
  const auto after = std::find_if(losses.begin(), losses.end(),
                                  [&](const auto& loss) { return loss.step >= fault.step + 20; });
  ASSERT_NE(after, losses.end());
  EXPECT_GT(losses.back().seconds, 100) << "of the clock";
  EXPECT_GT(fault.seconds, before->seconds);
  EXPECT_LT(fault.seconds, after->seconds);
  EXPECT_GE(history->log().back().seconds, losses.back().seconds);
}

TEST(SessionOrder, keeps_the_state_of_a_model) {
  experiment::Experiment e = served(ServerMode::asynchronous, 30);
  e.run.clock = RunClock::virtual_time;
  e.model.layers = {{model::LayerKind::linear, 12},
                    {model::LayerKind::batch_norm, 0},
                    {model::LayerKind::relu, 0},
                    {model::LayerKind::linear, 0}};
  EXPECT_EQ(state_of(SessionRun(e).result()), "finished");
}

TEST(SessionOrder, that_is_damaged_or_missing_is_reported) {
  SessionRun run(served(ServerMode::asynchronous, 20));
  const std::filesystem::path directory = run.result().result["run_directory"].get<std::string>();
  const auto problem = [&] {
    const auto again = session::replay_run(directory, replay_services());
    return again ? base::Problem{} : again.error();
  };
  EXPECT_EQ(problem(), base::Problem{});
  const std::filesystem::path file = directory / session::kOrderFile;
  {
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(static_cast<std::streamoff>(std::filesystem::file_size(file) / 2));
    bytes.put('!');
  }
  EXPECT_THAT(problem(),
              testing::AllOf(base::IsProblem("bad_frame_content",
                                             testing::StartsWith(file.string() + ", byte ")),
                             base::Advises(file.string())));
  std::filesystem::remove(file);
  EXPECT_THAT(problem(), testing::AllOf(base::IsProblem("missing_file", file.string()),
                                        base::Advises(file.string())));
}

// Events fit another drawing of as many ranks as well; what they mean does not.
TEST(SessionOrder, of_another_experiment_is_refused) {
  SessionRun run(served(ServerMode::asynchronous, 20)), other(served(ServerMode::softsync, 20));
  const std::filesystem::path directory = run.result().result["run_directory"].get<std::string>();
  const std::filesystem::path others = other.result().result["run_directory"].get<std::string>();
  const auto again = [&] { return session::replay_run(directory, replay_services()); };
  ASSERT_TRUE(again());
  std::filesystem::copy_file(others / session::kOrderFile, directory / session::kOrderFile,
                             std::filesystem::copy_options::overwrite_existing);
  const auto refused = again();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::ProblemCode::refused);
  EXPECT_EQ(refused.error().id, "order_of_other_plan") << base::to_string(refused.error());
}

}  // namespace
}  // namespace trainyard::conformance
