// SPDX-License-Identifier: GPL-3.0-or-later
// trainyard-cli sweep, with runs that really train.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/base/json.h"
#include "core/session/sweep/sweep_file.h"
#include "core/telemetry/history.h"
#include "examples.h"
#include "run_program.h"

namespace trainyard::process {
namespace {

namespace fs = std::filesystem;
using base::Json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;

std::vector<std::string> short_sweep(const std::string& out, const std::vector<std::string>& more) {
  std::vector<std::string> arguments{"sweep", kMirrored, "--json", "--out", out, "--steps", "10"};
  for (const char* few : {"data.train_samples=2000", "data.held_out_samples=100"})
    arguments.insert(arguments.end(), {"--set", few});
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::vector<std::string> states(const Json& result) {
  std::vector<std::string> all;
  for (const Json& one : result["variants"]) all.push_back(one["status"].get<std::string>());
  return all;
}

// One sweep for several looks at it: it takes a few seconds.
class FinishedSweep : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    home_ = new Home;
    ran_ = new Ran(
        cli(short_sweep((*home_ / "sweep").string(), {"--ranks", "1,2,3", "--algorithms",
                                                      "ring,star", "--set", "strategy.kind=ddp"})));
  }
  static void TearDownTestSuite() {
    delete ran_;
    delete home_;
  }
  static const Json& variant(std::size_t i) {
    static Json kept;
    return kept = ran_->result()["variants"][i];
  }
  static fs::path directory() { return *home_ / "sweep"; }

  static inline Home* home_ = nullptr;
  static inline Ran* ran_ = nullptr;
};

TEST_F(FinishedSweep, runs_every_variant_and_prints_progress) {
  ASSERT_EQ(ran_->exit_code, 0) << ran_->err;
  const Json result = ran_->result();
  EXPECT_EQ(result["status"], "completed");
  EXPECT_THAT(states(result), ElementsAre("done", "done", "done", "done", "done"));
  EXPECT_EQ(result["baseline"]["ranks"], 1);
  EXPECT_EQ(result["warm_up_steps"], 2);
  std::vector<std::string> progress;
  for (const Json& line : ran_->lines())
    if (line["type"] == "progress")
      progress.push_back(std::to_string(line["variant"].get<int>()) + " " +
                         line["status"].get<std::string>());
  EXPECT_THAT(progress, ElementsAre("0 running", "0 done", "1 running", "1 done", "2 running",
                                    "2 done", "3 running", "3 done", "4 running", "4 done"));
}

TEST_F(FinishedSweep, measured_the_bytes_of_the_formula) {
  for (std::size_t i = 0; i < 5; ++i) {
    const Json one = variant(i);
    EXPECT_EQ(one["bytes_as_formula"], true) << one.dump();
    EXPECT_EQ(one["step_bytes"], one["formula_step_bytes"]);
    EXPECT_EQ(one["step_bytes"]["all"] == 0, one["ranks"] == 1) << one.dump();
  }
}

TEST_F(FinishedSweep, figures_follow_from_the_recordings) {
  for (std::size_t i = 0; i < 5; ++i) {
    const Json one = variant(i);
    const auto history =
        telemetry::History::load(directory() / one["directory"].get<std::string>());
    ASSERT_TRUE(history);
    EXPECT_EQ(history->train_loss().size(), 10u);
    EXPECT_EQ(one["measured_steps"], 8) << "ten without two of warm-up";
    std::vector<double> times;
    for (std::size_t step = 2; step < 10; ++step) {
      double slowest = 0;
      for (int rank = 0; rank < history->ranks(); ++rank)
        slowest = std::max(slowest,
                           history->find({telemetry::Metric::step_seconds, rank, 0})->values[step]);
      times.push_back(slowest);
    }
    std::sort(times.begin(), times.end());
    const double median = (times[3] + times[4]) / 2,
                 rate = one["step_samples"].get<double>() / median;
    EXPECT_DOUBLE_EQ(one["step_seconds"]["median"].get<double>(), median);
    EXPECT_DOUBLE_EQ(one["samples_per_second"].get<double>(), rate);
    EXPECT_DOUBLE_EQ(one["speed_up"].get<double>(),
                     rate / variant(0)["samples_per_second"].get<double>());
    EXPECT_DOUBLE_EQ(one["efficiency"].get<double>(),
                     one["speed_up"].get<double>() / one["ranks"].get<double>());
    EXPECT_EQ(one["step_samples"].get<int>(),
              variant(0)["step_samples"].get<int>() * one["ranks"].get<int>())
        << "weak scaling";
    EXPECT_GT(one["simulated_step_seconds"].get<double>(), 0);
  }
}

TEST_F(FinishedSweep, leaves_a_manifest_and_readable_runs) {
  const auto sweep = session::read_sweep(directory());
  ASSERT_TRUE(sweep);
  EXPECT_EQ(sweep->state, session::SweepState::completed);
  EXPECT_FALSE(session::sweeping_process(directory()));
  for (const auto& one : sweep->variants)
    EXPECT_EQ(cli({"replay", (directory() / one.directory).string()}).exit_code, 0)
        << one.directory;
}

TEST_F(FinishedSweep, is_not_overwritten) {
  const Ran again = cli(short_sweep(directory().string(), {"--ranks", "1"}));
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.problems(), ElementsAre(Pair("directory_in_use", directory().string())));
}

TEST(Sweep, prints_a_table_and_its_caveats) {
  const Home home;
  auto arguments =
      short_sweep((home / "sweep").string(), {"--ranks", "1,2", "--scaling", "strong"});
  std::erase(arguments, "--json");
  const Ran ran = cli(arguments);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  for (const char* words : {"ranks  algorithm", "speed-up", "1 rank", "strong scaling", "10 steps",
                            "2 of warm-up", "not imposed", "equal"})
    EXPECT_THAT(ran.out, HasSubstr(words));
  EXPECT_THAT(ran.err, HasSubstr("1 of 2"));
}

TEST(Sweep, with_strong_scaling_keeps_the_global_batch_and_skips_indivisible_variants) {
  const Home home;
  const Ran ran =
      cli(short_sweep((home / "sweep").string(), {"--ranks", "2,3,4", "--scaling", "strong",
                                                  "--set", "training.batch_per_rank=16"}));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const Json result = ran.result();
  EXPECT_THAT(states(result), ElementsAre("done", "left_out", "done"));
  EXPECT_THAT(result["variants"][1]["reason"].get<std::string>(),
              testing::AllOf(HasSubstr("64 samples"), HasSubstr("3 ranks")));
  for (const int i : {0, 2}) EXPECT_EQ(result["variants"][i]["step_samples"], 64);
  EXPECT_EQ(result["baseline"]["ranks"], 2) << "1 rank was not measured";
}

// The data hold too few samples for four ranks.
TEST(Sweep, skips_variants_that_the_data_does_not_allow) {
  const Home home;
  const Ran ran = cli(short_sweep((home / "sweep").string(),
                                  {"--ranks", "1,4", "--set", "training.batch_per_rank=600"}));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(states(ran.result()), ElementsAre("done", "left_out"));
  EXPECT_THAT(ran.result()["variants"][1]["reason"].get<std::string>(),
              StartsWith("training.batch_per_rank: "));
}

// A directory stands where the second run would write its result.
TEST(SweepFaults, does_not_end_the_sweep_and_exits_with_3) {
  const Home home;
  fs::create_directories(home / "sweep");
  RunProgram program(home, short_sweep((home / "sweep").string(), {"--ranks", "1,2,4"}));
  ASSERT_TRUE(wait_until(60, [&] { return fs::exists(home / "sweep/01_1-rank/recording.try"); }));
  fs::create_directories(home / "sweep/02_ring-on-2-ranks");
  std::ofstream(home / "sweep/02_ring-on-2-ranks/mine.txt") << "in the way";
  const Ran ran = program.wait();
  EXPECT_EQ(ran.exit_code, 3) << ran.err;
  EXPECT_THAT(states(ran.result()), ElementsAre("done", "failed", "done"));
  EXPECT_THAT(ran.result()["variants"][1]["reason"].get<std::string>(), HasSubstr("mine.txt"));
}

class EndlessSweep : public testing::Test {
 protected:
  EndlessSweep()
      : program_(home_, {"sweep", kMirrored, "--json", "--out", directory(), "--ranks", "2,4",
                         "--steps", "1000000", "--set", "run.record_ops=false", "--set",
                         "data.held_out_samples=100"}) {}
  std::string directory() const { return (home_ / "sweep").string(); }
  std::string run() const { return directory() + "/01_ring-on-2-ranks"; }
  bool trains() const {
    return wait_until(60, [&] {
      const auto history = telemetry::History::load(run());
      return history && history->train_loss().size() > 3;
    });
  }
  // Returns the number of processes with the directory of the sweep in their command line.
  int processes() const {
    return std::stoi(shell("pgrep -fc -- '[-]-out " + directory() + "/' || true").out);
  }

  Home home_;
  RunProgram program_;
};

TEST_F(EndlessSweep, that_is_canceled_stops_its_run_cleanly_and_starts_no_other) {
  ASSERT_TRUE(trains());
  EXPECT_EQ(session::sweeping_process(directory()), program_.pid());
  program_.signal(SIGINT);
  const std::int64_t begin = now_ns();
  const Ran ran = program_.wait();
  EXPECT_LE(static_cast<double>(now_ns() - begin) * 1e-9, promised);
  EXPECT_EQ(ran.exit_code, 130) << ran.err;
  EXPECT_EQ(ran.result()["status"], "cancelled");
  EXPECT_THAT(states(ran.result()), ElementsAre("cancelled", "cancelled"));
  EXPECT_EQ(Json::parse(read(run() + "/result.json"))["status"], "cancelled");
  EXPECT_FALSE(fs::exists(directory() + "/02_ring-on-4-ranks"));
  EXPECT_EQ(session::read_sweep(directory())->state, session::SweepState::canceled);
}

TEST_F(EndlessSweep, that_is_killed_leaves_no_run) {
  ASSERT_TRUE(trains());
  program_.signal(SIGKILL);
  program_.wait();
  EXPECT_FALSE(session::sweeping_process(directory()));
  EXPECT_TRUE(wait_until(promised, [&] { return processes() == 0; }));
  EXPECT_EQ(Json::parse(read(run() + "/result.json"))["status"], "cancelled")
      << "it was not stopped cleanly";
  EXPECT_EQ(session::read_sweep(directory())->state, session::SweepState::running)
      << "the last state of the manifest";
}

TEST(Sweep, refuses_invalid_input_with_2_and_creates_no_directory) {
  const Home home;
  struct Bad {
    std::vector<std::string> arguments;
    std::string id;
    std::string where;
  };
  const std::vector<Bad> bad{
      {{"--ranks", "8"}, "more_ranks_than_drawn", "ranks"},
      {{"--ranks", "1,zwei"}, "bad_ranks", "--ranks"},
      {{"--algorithms", "rang"}, "bad_algorithms", "--algorithms"},
      {{"--scaling", "medium"}, "bad_value", "trainyard-cli sweep --scaling"},
      {{"--steps", "1"}, "bad_value", "trainyard-cli sweep --steps"},
      {{"--set", "strategy.kind=one_device"}, "strategy_does_not_scale", "strategy.kind"},
      {{"--set", "training.batch_per_rank=0"}, "out_of_range", "--set: training.batch_per_rank"},
      {{"--set", "data.kind=csv", "--set", "data.file=nowhere.csv"}, "missing_file", "data.file"}};
  for (const auto& [arguments, id, where] : bad) {
    SCOPED_TRACE(testing::PrintToString(arguments));
    const Ran ran = cli(short_sweep((home / "sweep").string(), arguments));
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_THAT(ran.problems(), ElementsAre(Pair(id, where)));
    EXPECT_FALSE(fs::exists(home / "sweep"));
  }
}

TEST(Sweep, directory_is_beside_the_runs) {
  const Home home;
  auto arguments = short_sweep("", {"--ranks", "1"});
  arguments.erase(arguments.begin() + 3, arguments.begin() + 5);  // --out
  const Ran ran = cli(arguments);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const fs::path directory = ran.result()["sweep_directory"].get<std::string>();
  EXPECT_EQ(directory.parent_path(), home.runs().parent_path() / "sweeps");
  EXPECT_FALSE(fs::exists(home.runs())) << "its runs are not listed among the user's runs";
}

}  // namespace
}  // namespace trainyard::process
