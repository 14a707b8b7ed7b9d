// SPDX-License-Identifier: GPL-3.0-or-later
// Requests to a run before all of its ranks have joined.
#include <gtest/gtest.h>

#include "tests/conformance/session_run.h"
#include "tests/conformance/session_viewer.h"

namespace trainyard::conformance {
namespace {

using session::Command;
using session::RunState;
using session::Status;

// Rank 1 stands outside, and has not said a word, until the door opens.
class SessionStart : public testing::Test {
 protected:
  SessionPieces pieces() const {
    SessionPieces late;
    late.connect = [opened = opened_](int rank, session::Connect connect) -> session::Connect {
      if (rank != 1) return connect;
      return [opened, connect](const std::string& endpoint) {
        opened.wait();
        return connect(endpoint);
      };
    };
    return late;
  }
  void open_door() { door_.set_value(); }

 private:
  std::promise<void> door_;
  std::shared_future<void> opened_ = door_.get_future().share();
};

// Nothing was trained, and nothing is kept but the story.
void expect_canceled(SessionRun& run) {
  const auto outcome = run.result();
  EXPECT_EQ(state_of(outcome), "cancelled: canceled");
  EXPECT_EQ(outcome.result["status"], "cancelled");
  EXPECT_EQ(outcome.result["steps"], 0);
  EXPECT_FALSE(std::filesystem::exists(run.directory() / "control"))
      << "the file marks a running run";
  EXPECT_FALSE(std::filesystem::exists(run.directory() / "checkpoints" / "step-0"));
}

TEST_F(SessionStart, stops_on_request_and_late_ranks_are_notified) {
  SessionRun run(session_experiment(3, kEndless), pieces());
  Viewer viewer(run.client());
  EXPECT_EQ(viewer.ask().state, RunState::starting);
  EXPECT_EQ(viewer.ask(Command::stop).state, RunState::canceled);
  open_door();
  expect_canceled(run);
}

TEST_F(SessionStart, stops_without_waiting_for_a_rank_that_is_not_ready) {
  SessionPieces stuck;
  stuck.compute = [](int rank, std::unique_ptr<compute::Compute> plain,
                     const SessionPieces::Killed& killed) {
    while (rank == 1 && !*killed) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return plain;
  };
  SessionRun run(session_experiment(3, kEndless), std::move(stuck));
  Viewer viewer(run.client());
  viewer.ask(Command::stop);
  expect_canceled(run);
}

TEST_F(SessionStart, stops_on_interrupt) {
  SessionRun run(session_experiment(3, kEndless), pieces());
  run.interrupt();
  Viewer(run.client()).wait_for(RunState::canceled);
  open_door();
  expect_canceled(run);
}

TEST_F(SessionStart, uses_the_chosen_pace_from_the_first_step) {
  SessionRun run(session_experiment(2, kEndless), pieces());
  Viewer viewer(run.client());
  const Status chosen = viewer.ask(Command::set_pace, 0.05);
  EXPECT_EQ(chosen.state, RunState::starting);
  EXPECT_DOUBLE_EQ(chosen.seconds_per_step, 0.05);
  open_door();
  const Status training = viewer.wait_for_step(3);
  EXPECT_DOUBLE_EQ(training.seconds_per_step, 0.05);
  EXPECT_LE(training.horizon, training.step + 1) << "one step at a time";
}

TEST_F(SessionStart, pauses_before_the_first_step) {
  SessionRun run(session_experiment(2, kEndless), pieces());
  Viewer viewer(run.client());
  EXPECT_EQ(viewer.ask(Command::pause).state, RunState::starting);
  open_door();
  EXPECT_EQ(viewer.wait_for(RunState::paused).horizon, 0);
  viewer.ask(Command::single_step);
  EXPECT_EQ(
      viewer.wait_until([](const Status& s) { return s.state == RunState::paused && s.step > 0; })
          .step,
      1);
  viewer.ask(Command::resume);
  viewer.wait_for_step(5);
}

TEST_F(SessionStart, stops_while_paused_before_the_first_step) {
  SessionRun run(session_experiment(2, kEndless), pieces());
  Viewer viewer(run.client());
  viewer.ask(Command::pause);
  open_door();
  viewer.wait_for(RunState::paused);
  viewer.ask(Command::stop);
  const auto outcome = run.result();
  EXPECT_EQ(state_of(outcome), "stopped");
  EXPECT_EQ(outcome.result["steps"], 0);
}

TEST_F(SessionStart, runs_the_first_step_as_a_single_step) {
  SessionRun run(session_experiment(2, kEndless), pieces());
  Viewer viewer(run.client());
  viewer.ask(Command::single_step);
  open_door();
  EXPECT_EQ(viewer.wait_for(RunState::paused).step, 1);
}

}  // namespace
}  // namespace trainyard::conformance
