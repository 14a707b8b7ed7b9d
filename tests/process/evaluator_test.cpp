// SPDX-License-Identifier: GPL-3.0-or-later
// A rank that evaluates alone: what it measures, and what becomes of a run that loses it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <fstream>

#include "core/base/json.h"
#include "core/session/checkpoint/checkpoint.h"
#include "core/telemetry/history.h"
#include "examples.h"
#include "watched_run.h"

namespace trainyard::process {
namespace {

using base::Json;
using session::Command;
using telemetry::History;
using telemetry::StepValue;
using testing::ElementsAre;

constexpr int kEvaluator = 4;  // after three workers and a server

std::vector<std::string> evaluated(std::vector<std::string> more = {}) {
  more.emplace_back("topology.hosts[0].devices[3].role=evaluator");
  return more;
}

History history_of(const std::string& directory) { return History::load(directory).value(); }

std::map<int, double> by_step(const telemetry::StepValues& values) {
  std::map<int, double> map;
  for (const StepValue& value : values) map[value.step] = value.value;
  return map;
}

// A synchronous run has the same weights at every step, whichever rank evaluates.
TEST(Evaluators, measure_the_same_as_workers) {
  const Home home;
  for (const std::string transport : {"shm", "zmq", "inproc"}) {
    const std::vector<std::string> settings{"strategy.servers.mode=synchronous",
                                            "run.evaluate_every_steps=20",
                                            "run.transport=" + transport};
    auto by_workers = settings;
    by_workers.emplace_back("topology.hosts[0].devices[3].role=idle");
    const Json own = completed(short_run(kServed, 100, by_workers)),
               other = completed(short_run(kServed, 100, evaluated(settings)));
    const History workers = history_of(own["run_directory"]),
                  evaluator = history_of(other["run_directory"]);
    for (const auto value : {&History::held_out_loss, &History::held_out_accuracy}) {
      const auto expected = by_step((workers.*value)()), measured = by_step((evaluator.*value)());
      ASSERT_EQ(expected.size(), 5u);
      ASSERT_FALSE(measured.empty());
      EXPECT_EQ(measured.rbegin()->first, 99) << "the last checkpoint is never passed over";
      for (const auto& [step, number] : measured) {
        ASSERT_TRUE(expected.contains(step)) << step;
        EXPECT_EQ(number, expected.at(step)) << "step " << step << " over " << transport;
      }
    }
    EXPECT_EQ(other["held_out_accuracy"], own["held_out_accuracy"]);
    EXPECT_EQ(other["ranks"][kEvaluator]["role"], "evaluator");
    EXPECT_EQ(other["ranks"][kEvaluator]["sent_bytes"], 0);
    EXPECT_EQ(other["ranks"][0]["parameters_xxh64"], own["ranks"][0]["parameters_xxh64"]);
    for (const auto& [key, series] : workers.series())
      EXPECT_TRUE(key.metric != telemetry::Metric::held_out_samples || key.rank < 3);
    for (const auto& [key, series] : evaluator.series())
      EXPECT_TRUE(key.metric != telemetry::Metric::held_out_samples || key.rank == kEvaluator);
  }
}

TEST(Evaluators, use_the_running_statistics_of_batch_normalization) {
  const Home home;
  const Json result = completed(short_run(
      kServed, 60, evaluated({"model.layers[1].kind=batch_norm", "run.evaluate_every_steps=30"})));
  const auto accuracies = history_of(result["run_directory"]).held_out_accuracy();
  ASSERT_FALSE(accuracies.empty());
  EXPECT_EQ(accuracies.back().step, 59);
  EXPECT_GT(accuracies.back().value, 0.5);
}

// Two parts make a checkpoint, and what has no part of it yet is not measured.
TEST(Evaluators, read_the_shards_of_all_servers) {
  const Home home;
  const std::vector<std::string> settings{"strategy.servers.mode=synchronous",
                                          "topology.hosts[0].devices[2].role=parameter_server"};
  auto by_workers = settings;
  by_workers.emplace_back("topology.hosts[0].devices[3].role=idle");
  const Json own = completed(short_run(kServed, 50, by_workers)),
             other = completed(short_run(kServed, 50, evaluated(settings)));
  EXPECT_EQ(other["held_out_accuracy"], own["held_out_accuracy"]);
}

class LostEvaluator : public testing::TestWithParam<std::string> {
 protected:
  std::vector<std::string> with(std::vector<std::string> overrides = {}) const {
    overrides.insert(overrides.end(),
                     {"run.transport=" + GetParam(), "run.evaluate_every_steps=50"});
    return evaluated(overrides);
  }
};
INSTANTIATE_TEST_SUITE_P(Faults, LostEvaluator, testing::Values("shm", "zmq"));

TEST_P(LostEvaluator, does_not_stop_training_and_is_restarted_on_request) {
  const Home home;
  Watched run(home, kServed, with());
  ASSERT_TRUE(run.trains());
  run.harm(kEvaluator, SIGKILL);
  EXPECT_TRUE(run.becomes(kEvaluator, "lost"));
  EXPECT_TRUE(run.goes_on(200));
  const std::int64_t until = run.ask()->step;
  run.ask(Command::restart, kEvaluator);
  EXPECT_TRUE(run.is_back(kEvaluator));
  EXPECT_TRUE(run.goes_on(200));
  const Ran ran = run.stop();
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(kinds(ran.result()), ElementsAre("lost 4", "back 4"));
  const History history = history_of(run.directory());
  ASSERT_FALSE(history.held_out_accuracy().empty());
  EXPECT_GT(history.held_out_accuracy().back().step, until) << "it measures again";
  EXPECT_EQ(history.held_out_accuracy().back().step + 1, ran.result()["committed_step"]);
  EXPECT_THAT(read(run.directory() / "run.log"),
              testing::ContainsRegex("rank 4 \\([^\n]*\\)  warning: "));
}

TEST_P(LostEvaluator, that_is_suspended_is_lost_also_after_training) {
  const Home home;
  Watched run(home, kServed, with());
  ASSERT_TRUE(run.trains());
  run.harm(kEvaluator, SIGSTOP);
  const Ran ran = run.stop();
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.result()["status"], "stopped");
  EXPECT_THAT(kinds(ran.result()), ElementsAre("lost 4"));
}

TEST_P(LostEvaluator, is_restarted_automatically_if_restarts_are_allowed) {
  const Home home;
  Watched run(home, kServed, with({"run.restarts=1"}));
  ASSERT_TRUE(run.trains());
  const pid_t before = run.process(kEvaluator);
  run.harm(kEvaluator, SIGKILL);
  EXPECT_TRUE(wait_until(30, [&] { return run.process(kEvaluator) != before; }));
  EXPECT_TRUE(run.is_back(kEvaluator));
  EXPECT_TRUE(run.goes_on(100));
  const Ran ran = run.stop();
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(kinds(ran.result()), ElementsAre("lost 4", "back 4"));
}

TEST_P(LostEvaluator, ends_with_the_run_if_the_server_is_gone) {
  const Home home;
  Watched run(home, kServed, with());
  ASSERT_TRUE(run.trains());
  const pid_t evaluator = run.process(kEvaluator);
  run.harm(3, SIGKILL);
  const Ran ran = run.end();
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_EQ(ran.result()["problem"]["where"], "rank 3 (host0/server)");
  ASSERT_GT(evaluator, 1);
  EXPECT_EQ(::kill(evaluator, 0), -1) << "it has ended";
}

// A worker that is lost beside it leaves what it measures as it is.
TEST(Evaluators, continue_after_a_worker_is_lost) {
  const Home home;
  Watched run(home, kServed, evaluated({"run.evaluate_every_steps=50"}));
  ASSERT_TRUE(run.trains());
  run.harm(0, SIGKILL);
  EXPECT_TRUE(run.becomes(0, "lost"));
  const std::int64_t until = run.ask()->step;
  EXPECT_TRUE(run.goes_on(200));
  const Ran ran = run.stop();
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_GT(history_of(run.directory()).held_out_accuracy().back().step, until);
}

int threads_that_give_way(pid_t process) {
  int all = 0;
  for (const auto& thread :
       std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task"))
    all += ::sched_getscheduler(std::stoi(thread.path().filename())) == SCHED_IDLE ? 1 : 0;
  return all;
}

// It only gets a core that no training rank wants, and no rank waits for it, so it may be stopped.
TEST(Evaluators, never_delay_training_ranks) {
  const Home home;
  Watched run(home, kServed, evaluated({"run.evaluate_every_steps=50"}));
  ASSERT_TRUE(run.trains());
  EXPECT_TRUE(
      wait_until(promised, [&] { return threads_that_give_way(run.process(kEvaluator)) > 0; }));
  for (const int rank : {0, 1, 2, 3})
    EXPECT_EQ(threads_that_give_way(run.process(rank)), 0) << rank;
  run.ask(Command::stall, kEvaluator);
  EXPECT_TRUE(run.goes_on(100));
  run.ask(Command::wake, kEvaluator);
  EXPECT_EQ(run.stop().exit_code, 0);
}

TEST(Evaluators, do_not_change_the_replay_of_servers) {
  const Home home;
  const Json result = completed(short_run(kServed, 80, evaluated()));
  const Ran again = cli({"replay", result["run_directory"], "--recompute", "--json"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.result()["parameters_xxh64"], result["ranks"][0]["parameters_xxh64"]);
}

TEST(Evaluators, continue_in_a_resumed_run) {
  const Home home;
  const Json half = completed(short_run(kServed, 40, evaluated()));
  auto arguments = short_run(kServed, 90, evaluated({"run.evaluate_every_steps=20"}));
  arguments.insert(arguments.end(), {"--resume", half["run_directory"]});
  const Json rest = completed(arguments);
  const auto losses = history_of(rest["run_directory"]).held_out_loss();
  ASSERT_FALSE(losses.empty());
  EXPECT_GE(losses.front().step, 40);
  EXPECT_EQ(losses.back().step, 89);
}

TEST(Evaluators, in_a_drawing_are_proved_and_simulated) {
  const Home home;
  for (const std::string verb : {"check", "simulate", "plan", "validate"}) {
    const Ran ran =
        cli({verb, kServed, "--json", "--set", "topology.hosts[0].devices[3].role=evaluator"});
    EXPECT_EQ(ran.exit_code, 0) << verb << ": " << ran.err;
  }
}

// Batch normalization keeps statistics of each rank's own samples, and a checkpoint those of the
// chief.
TEST(Chief, worker_writes_the_checkpoint) {
  const Home home;
  const auto saved = [](const std::string& role) {
    const Json result =
        completed(short_run(kMirrored, 5,
                            {"topology.hosts[0].devices[2].role=" + role,
                             "model.layers[1].kind=batch_norm", "training.batch_per_rank=8"}));
    EXPECT_EQ(result["ranks"][2]["role"], role);
    EXPECT_EQ(result["ranks"][0]["role"], "worker");
    std::set<std::string> names;  // with the hash of what is in them
    for (const auto& entry : std::filesystem::directory_iterator(
             std::filesystem::path(result["run_directory"].get<std::string>()) / "checkpoints" /
             "step-5"))
      if (entry.path().extension() == ".safetensors") names.insert(entry.path().filename());
    return std::pair(names, result["ranks"][0]["parameters_xxh64"].get<std::string>());
  };
  const auto first = saved("worker"), third = saved("chief");
  EXPECT_EQ(first.second, third.second) << "the same training";
  EXPECT_EQ(first.first.size(), 1u);
  EXPECT_NE(first.first, third.first);
}

}  // namespace
}  // namespace trainyard::process
