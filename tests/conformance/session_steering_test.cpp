// SPDX-License-Identifier: GPL-3.0-or-later
// Coordinator and ranks together, without a process or a socket: how a run that trains is steered.
#include <gmock/gmock.h>

#include "core/base/json.h"
#include "core/base/units.h"
#include "tests/conformance/session_run.h"
#include "tests/conformance/session_viewer.h"
#include "tests/conformance/wrapped_transport.h"

namespace trainyard::conformance {
namespace {

using session::Command;
using session::RunState;
using session::Status;

TEST(Session, pause_stops_all_ranks_at_one_step_and_resume_continues) {
  SessionRun run(session_experiment(2, kEndless));
  Viewer viewer(run.client());
  viewer.wait_for_step(3);
  viewer.ask(Command::pause);
  const Status paused = viewer.wait_for(RunState::paused);
  for (const auto& rank : paused.ranks)
    EXPECT_EQ(rank.step, paused.horizon) << "rank " << rank.rank;
  for (const auto& rank : paused.ranks) EXPECT_EQ(rank.state, "paused");
  viewer.ask(Command::resume);
  viewer.wait_for_step(paused.step + 5);
}

// A run that trains; the step at which it then stands.
std::int64_t pause(Viewer& viewer) {
  viewer.wait_for_step(1);
  viewer.ask(Command::pause);
  return viewer.wait_for(RunState::paused).step;
}

TEST(Session, a_single_step_is_one_step) {
  SessionRun run(session_experiment(2, kEndless));
  Viewer viewer(run.client());
  const std::int64_t at = pause(viewer);
  for (int i = 1; i <= 3; ++i) {
    viewer.ask(Command::single_step);
    const Status after = viewer.wait_until(
        [&](const Status& s) { return s.state == RunState::paused && s.step > at + i - 1; });
    EXPECT_EQ(after.step, at + i);
    EXPECT_EQ(after.horizon, at + i);
  }
}

TEST(Session, single_steps_are_logged_as_such_and_not_as_pauses) {
  auto experiment = session_experiment(2, kEndless);
  experiment.run.recording_limit_bytes = 0;  // no line about its size
  SessionRun run(experiment);
  Viewer viewer(run.client());
  const std::int64_t at = pause(viewer);
  for (const std::int64_t step : {at + 1, at + 2}) {
    viewer.ask(Command::single_step);
    viewer.wait_until(
        [&](const Status& s) { return s.state == RunState::paused && s.step == step; });
  }
  viewer.ask(Command::stop);
  EXPECT_EQ(state_of(run.result()), "stopped");
  const auto history = telemetry::History::load(run.directory());
  ASSERT_TRUE(history);
  std::vector<std::string> notes;
  for (const telemetry::LogLine& line : history->log())
    if (line.rank < 0) notes.push_back(line.text);
  const auto done = [](std::int64_t steps) {
    return testing::AllOf(testing::HasSubstr("single step"),
                          testing::HasSubstr(" " + base::format_count(steps) + " of "));
  };
  EXPECT_THAT(notes,
              testing::ElementsAre(testing::HasSubstr("2 ranks"), "running", "pausing", "paused",
                                   done(at + 1), done(at + 2), "stopping", "stopped"));
}

TEST(Session, single_step_while_training_is_the_one_after_the_granted_steps) {
  SessionRun run(session_experiment(2, kEndless));
  Viewer viewer(run.client());
  viewer.wait_for_step(3);
  const std::int64_t granted = viewer.ask(Command::single_step).horizon;
  const Status after = viewer.wait_for(RunState::paused);
  EXPECT_EQ(after.step, granted + 1);
  EXPECT_EQ(after.horizon, granted + 1);
}

TEST(Session, repeated_or_late_commands_are_executed_once) {
  SessionRun run(session_experiment(2, kEndless));
  Viewer viewer(run.client());
  viewer.wait_for_step(1);
  viewer.ask(Command::pause);
  const std::uint64_t pause = viewer.last_id();
  const std::int64_t at = viewer.wait_for(RunState::paused).step;
  viewer.ask(Command::single_step);
  const std::uint64_t single = viewer.last_id();
  for (int i = 0; i < 5; ++i) viewer.send({single, Command::single_step, 0});
  viewer.wait_until(
      [&](const Status& s) { return s.state == RunState::paused && s.step == at + 1; });
  viewer.ask(Command::resume);
  viewer.send({pause, Command::pause, 0});  // an old one arrives again
  viewer.wait_for_step(at + 20);
  EXPECT_EQ(viewer.ask().state, RunState::running);
}

TEST(Session, viewers_number_their_commands_independently) {
  SessionRun run(session_experiment(2, kEndless));
  Viewer first(run.client()), second(run.client());
  first.wait_for_step(1);
  for (int i = 0; i < 50; ++i) first.ask();
  second.ask(Command::pause);  // its first id, long used by the other
  EXPECT_LT(second.last_id(), first.last_id());
  EXPECT_EQ(first.wait_for(RunState::paused).state, RunState::paused);
}

TEST(Session, stop_ends_cleanly_with_the_completed_steps) {
  SessionRun run(session_experiment(2, kEndless));
  Viewer viewer(run.client());
  viewer.wait_for_step(5);
  viewer.ask(Command::stop);
  const auto outcome = run.result();
  EXPECT_EQ(state_of(outcome), "stopped");
  EXPECT_EQ(outcome.result["status"], "stopped");
  EXPECT_GE(outcome.result["steps"], 5);
  EXPECT_LT(outcome.result["steps"], kEndless);
  EXPECT_EQ(outcome.result["ranks"][0]["parameters_xxh64"],
            outcome.result["ranks"][1]["parameters_xxh64"]);
  EXPECT_TRUE(std::filesystem::exists(run.directory() / "checkpoints" /
                                      ("step-" + outcome.result["steps"].dump()) /
                                      "manifest.json"));
}

TEST(Session, stop_while_paused_ends_too) {
  SessionRun run(session_experiment(2, kEndless));
  Viewer viewer(run.client());
  viewer.wait_for_step(1);
  viewer.ask(Command::pause);
  viewer.wait_for(RunState::paused);
  viewer.ask(Command::stop);
  EXPECT_EQ(state_of(run.result()), "stopped");
}

TEST(Session, pace_setting_delays_steps) {
  SessionRun run(session_experiment(2, kEndless));
  Viewer viewer(run.client());
  viewer.wait_for_step(1);
  const Status set = viewer.ask(Command::set_pace, 0.05);
  EXPECT_DOUBLE_EQ(set.seconds_per_step, 0.05);
  const std::int64_t from =
                         viewer.wait_until([](const Status&s) { return s.step >= s.horizon - 1; })
                             .step,
                     begun = base::now_nanoseconds();
  const std::int64_t to = viewer.wait_for_step(from + 10).step;
  EXPECT_GE(base::seconds(base::now_nanoseconds() - begun),
            0.05 * static_cast<double>(to - from - 2));
  viewer.ask(Command::set_pace, 0);
  viewer.wait_for_step(to + 100);
}

TEST(Session, interrupt_stops_cleanly_and_counts_as_canceled) {
  SessionRun run(session_experiment(2, kEndless));
  Viewer viewer(run.client());
  viewer.wait_for_step(5);
  run.interrupt();
  const auto outcome = run.result();
  EXPECT_EQ(state_of(outcome), "cancelled: canceled");
  EXPECT_EQ(outcome.result["status"], "cancelled");
  EXPECT_TRUE(outcome.result["ranks"][0]["parameters_xxh64"].is_string())
      << "the trained parameters are kept";
}

TEST(Session, stop_cannot_be_revoked) {
  SessionRun run(session_experiment(2, kEndless));
  Viewer(run.client()).wait_for_step(1);
  const auto viewer = run.client();
  std::uint64_t id = 0;
  for (const Command command :
       {Command::stop, Command::pause, Command::single_step, Command::resume})
    EXPECT_TRUE(viewer->send(session::Ask{++id, command, 0}));
  EXPECT_EQ(state_of(run.result()), "stopped");
  const auto history = telemetry::History::load(run.directory());
  ASSERT_TRUE(history);
  std::vector<std::string> states;
  for (const base::SharedJson& state : history->states())
    states.push_back((*state).at("state").get<std::string>());
  EXPECT_THAT(states, testing::ElementsAre("starting", "running", "stopping", "stopped"));
}

// Lets go of its peers when it may.
class Lingering final : public WrappedTransport {
 public:
  Lingering(std::unique_ptr<comm::Transport> inner, std::shared_future<void> may_go)
      : WrappedTransport(std::move(inner)), may_go_(std::move(may_go)) {}
  ~Lingering() override { may_go_.wait(); }

 private:
  std::shared_future<void> may_go_;
};

TEST(Session, interrupt_while_ranks_exit_changes_nothing) {
  std::promise<void> go;
  SessionPieces pieces;
  pieces.transport = [may_go = go.get_future().share()](
                         int,
                         std::unique_ptr<comm::Transport> end) -> std::unique_ptr<comm::Transport> {
    return std::make_unique<Lingering>(std::move(end), may_go);
  };
  SessionRun run(session_experiment(2, 20), std::move(pieces));
  Viewer viewer(run.client());
  viewer.wait_for(RunState::finished);
  run.interrupt();
  EXPECT_EQ(viewer.ask().state, RunState::finished);
  go.set_value();
  EXPECT_EQ(state_of(run.result()), "finished");
}

}  // namespace
}  // namespace trainyard::conformance
