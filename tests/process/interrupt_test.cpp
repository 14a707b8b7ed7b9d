// SPDX-License-Identifier: GPL-3.0-or-later
// Ctrl-C, in every phase of a run: it stops in order, with exit code 130, and leaves nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/experiment/resolve.h"
#include "core/session/checkpoint/checkpoint.h"
#include "core/telemetry/history.h"
#include "examples.h"
#include "run_program.h"
#include "tests/conformance/session_viewer.h"

namespace trainyard::process {
namespace {

namespace fs = std::filesystem;
using base::Json;
using conformance::Viewer;
using session::Status;

// The step of the checkpoint that loads; -1: none does.
std::int64_t checkpoint_step(const fs::path& run_directory) {
  const auto resolved =
      experiment::resolved_from_json(Json::parse(read(run_directory / "resolved.json"))).value();
  std::vector<float> values(static_cast<std::size_t>(resolved.model.elements));
  const auto loaded =
      session::read_checkpoint(run_directory / "checkpoints", resolved.model,
                               compute::Tensor{base::DType::fp32,
                                               {resolved.model.elements},
                                               reinterpret_cast<std::byte*>(values.data())});
  EXPECT_TRUE(!loaded || loaded->skipped.empty());
  return loaded ? loaded->info.step : -1;
}

// Stopped in order: the result is kept, and all agree on it.
void expect_clean_end(const Home& home, RunProgram& run) {
  const std::int64_t begin = now_ns();
  const Ran ran = run.wait();
  EXPECT_LE(base::seconds(now_ns() - begin), promised);
  EXPECT_EQ(ran.exit_code, 130) << ran.err;
  const Json result = ran.result();
  EXPECT_EQ(result["status"], "cancelled");
  EXPECT_EQ(weights_of(result).size(), 1u);
  const fs::path directory = result["run_directory"].get<std::string>();
  EXPECT_EQ(checkpoint_step(directory), result["steps"].get<std::int64_t>());
  const auto history = telemetry::History::load(directory);
  ASSERT_TRUE(history);
  EXPECT_EQ(history->damage(), "");
  EXPECT_EQ(history->result(), result);
  EXPECT_EQ(static_cast<std::int64_t>(history->train_loss().size()),
            result["steps"].get<std::int64_t>());
  EXPECT_TRUE(fs::is_empty(home.sockets()));
  EXPECT_TRUE(run.ranks().empty());
}

TEST(Interrupt, at_any_time_during_the_start_leaves_no_files) {
  for (int trial = 0; trial < 25; ++trial) {
    const Home home;
    RunProgram run(
        home, endless_run(kMirrored, {trial % 2 == 0 ? "run.transport=shm" : "run.transport=zmq"}));
    std::this_thread::sleep_for(std::chrono::milliseconds(20 * trial));
    const auto ranks = run.ranks();
    const std::int64_t begin = now_ns();
    run.signal(SIGINT);
    const Ran ran = run.wait();
    EXPECT_LE(base::seconds(now_ns() - begin), promised) << trial;
    EXPECT_EQ(ran.exit_code, 130) << trial << ": " << ran.err;
    if (!ran.out.empty()) {
      EXPECT_EQ(ran.result()["status"], "cancelled") << trial;
    }
    for (const RankProcess& rank : ranks) EXPECT_FALSE(lives(rank.pid)) << trial;
    EXPECT_TRUE(!fs::exists(home.sockets()) || fs::is_empty(home.sockets())) << trial;
  }
}

TEST(Interrupt, while_training_keeps_the_result) {
  const Home home;
  RunProgram run(home, endless_run(kMirrored));
  ASSERT_TRUE(run.wait_for_step(5));
  run.signal(SIGINT);
  expect_clean_end(home, run);
}

TEST(Interrupt, by_any_termination_signal_is_handled_alike) {
  for (const int signal : {SIGTERM, SIGHUP}) {
    const Home home;
    RunProgram run(home, endless_run(kMirrored));
    ASSERT_TRUE(run.wait_for_step(5));
    run.signal(signal);
    expect_clean_end(home, run);
  }
}

TEST(Interrupt, while_paused_keeps_the_result) {
  const Home home;
  RunProgram run(home, endless_run(kMirrored));
  ASSERT_TRUE(run.wait_for_step(5));
  Viewer viewer(run.client());
  viewer.ask(session::Command::pause);
  viewer.wait_for(session::RunState::paused);
  run.signal(SIGINT);
  expect_clean_end(home, run);
}

// Steps of a few milliseconds, evaluations of many: a step that lasts is one that is being
// evaluated.
bool wait_for_evaluation(Viewer& viewer) {
  for (int i = 0; i < 2000; ++i) {
    const Status before = viewer.ask();
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
    const Status after = viewer.ask();
    if (before.step > 1 && before.step == after.step && !after.ranks[0].op.empty()) return true;
  }
  return false;
}

TEST(Interrupt, while_evaluating_keeps_the_result) {
  const Home home;
  RunProgram run(
      home, endless_run(kMirrored, {"data.held_out_samples=20000", "run.evaluate_every_steps=2"}));
  ASSERT_TRUE(run.wait_for_step(1));
  Viewer viewer(run.client());
  ASSERT_TRUE(wait_for_evaluation(viewer));
  run.signal(SIGINT);
  expect_clean_end(home, run);
}

// A model whose weights take a while to get to the disk.
std::string wide_model(const Home& home) {
  Json e = Json::parse(read(kOne));
  e["model"]["layers"] = Json::array({{{"kind", "linear"}, {"units", 4096}},
                                      {{"kind", "relu"}},
                                      {{"kind", "linear"}, {"units", 4096}},
                                      {{"kind", "linear"}}});
  return home.scratch().write("wide.json", e.dump());
}

bool wait_for_checkpoint_to_begin(const RunProgram& run) {
  return wait_until(60, [&] { return fs::exists(run.run_directory() / "checkpoints"); });
}

TEST(Interrupt, while_writing_the_checkpoint_keeps_the_result) {
  const Home home;
  RunProgram run(home, short_run(wide_model(home), 2, {"training.batch_per_rank=8"}));
  ASSERT_TRUE(wait_for_checkpoint_to_begin(run));
  run.signal(SIGINT);
  expect_clean_end(home, run);
}

TEST(Interrupt, a_second_time_while_writing_the_checkpoint_leaves_a_complete_one_or_none) {
  const Home home;
  RunProgram run(home, short_run(wide_model(home), 2, {"training.batch_per_rank=8"}));
  ASSERT_TRUE(wait_for_checkpoint_to_begin(run));
  const auto ranks = run.ranks();
  run.signal(SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  run.signal(SIGINT);
  EXPECT_EQ(run.wait().exit_code, 130);
  for (const RankProcess& rank : ranks)
    EXPECT_TRUE(wait_until_gone(rank.pid, promised)) << rank.rank;
  EXPECT_THAT(checkpoint_step(run.run_directory()), testing::AnyOf(-1, 2));
  EXPECT_TRUE(fs::is_empty(home.sockets()));
}

// The run cannot stop cleanly, because a suspended rank completes no step.
TEST(Interrupt, a_second_time_stops_the_run_immediately) {
  const Home home;
  RunProgram run(home, endless_run(kMirrored));
  ASSERT_TRUE(run.wait_for_step(5));
  const auto ranks = run.ranks();
  ASSERT_EQ(ranks.size(), 4u);
  ::kill(ranks[1].pid, SIGSTOP);
  run.signal(SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  EXPECT_TRUE(lives(run.pid())) << "the first update waits for the end of the step";
  EXPECT_TRUE(lives(ranks[1].pid));
  run.signal(SIGTERM);
  EXPECT_TRUE(wait_until_gone(run.pid(), 5));
  EXPECT_EQ(run.wait().exit_code, 130);
  for (const RankProcess& rank : ranks)
    EXPECT_TRUE(wait_until_gone(rank.pid, promised)) << rank.rank;
}

}  // namespace
}  // namespace trainyard::process
