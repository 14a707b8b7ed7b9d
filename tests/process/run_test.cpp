// SPDX-License-Identifier: GPL-3.0-or-later
// Experiments run for real, by the programs themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/base/json.h"
#include "core/base/units.h"
#include "core/telemetry/history.h"
#include "examples.h"
#include "run_program.h"
#include "trained_weights.h"

namespace trainyard::process {
namespace {

using base::Json;
using testing::ContainsRegex;
using testing::HasSubstr;

// Threads share a process, whose memory cannot be assigned to a rank.
TEST(Run, reports_the_memory_of_ranks_that_are_processes) {
  const Home home;
  const auto charted = [](const Json& result) {
    const auto history =
        telemetry::History::load(result["run_directory"].get<std::string>()).value();
    EXPECT_NE(history.find({telemetry::Metric::step_seconds, 3, 0}), nullptr);
    const auto* memory = history.find({telemetry::Metric::memory_bytes, 3, 0});
    return memory ? memory->values.front() : 0;
  };
  const Json processes = completed(short_run(kMirrored, 3)),
             threads = completed(short_run(kMirrored, 3, {"run.transport=inproc"}));
  for (const Json& rank : processes["ranks"])
    EXPECT_GT(rank["peak_memory_bytes"].get<std::int64_t>(), 1'000'000);
  for (const Json& rank : threads["ranks"]) EXPECT_TRUE(rank["peak_memory_bytes"].is_null());
  EXPECT_GT(charted(processes), 1e6);
  EXPECT_EQ(charted(threads), 0);
}

TEST(Run, reports_a_slowed_down_rank_in_its_result) {
  const Home home;
  const Json result =
      completed(short_run(kMirrored, 10, {"topology.hosts[0].devices[1].slow_down=3"}));
  EXPECT_FALSE(result["ranks"][0].contains("slowed_down"));
  EXPECT_EQ(result["ranks"][1]["slowed_down"], 3);
}

TEST(Run, with_four_ranks_equals_one_device_with_the_same_global_batch) {
  const Home home;
  const Json one =
      completed(short_run(kOne, 100, {"training.precision=fp64", "training.batch_per_rank=128"}));
  const Json four = completed(
      short_run(kMirrored, 100, {"training.precision=fp64", "training.batch_per_rank=32"}));
  EXPECT_LE(distance(trained_weights(four), trained_weights(one)), 1e-10);
  EXPECT_EQ(one["samples"], four["samples"]);
  EXPECT_NEAR(one["train_loss"].get<double>(), four["train_loss"].get<double>(), 1e-9);
  EXPECT_EQ(one["wire_bytes"]["payload"], 0);
}

TEST(Run, leaves_a_complete_run_directory_and_no_sockets) {
  const Home home;
  const std::filesystem::path out = home / "the run";
  auto arguments = short_run(kMirrored, 30, {"strategy.bucket_bytes=100000"});
  arguments.insert(arguments.end(), {"--out", out.string()});
  const Json result = completed(arguments);
  EXPECT_EQ(result["run_directory"], out.string());
  EXPECT_GT(result["wire_bytes"]["header"], 0);
  for (const char* file :
       {"experiment.json", "resolved.json", "plan.txt", "run.log", "result.json", "recording.try",
        "checkpoints/step-30/manifest.json", "logs/rank-0.log", "logs/rank-3.log"})
    EXPECT_TRUE(std::filesystem::exists(out / file)) << file;
  EXPECT_FALSE(std::filesystem::exists(out / "control"));
  EXPECT_TRUE(std::filesystem::is_empty(home.sockets()));
  EXPECT_EQ(Json::parse(read(out / "result.json")), result);
  EXPECT_EQ(Json::parse(read(out / "experiment.json"))["strategy"]["bucket_bytes"], 100000);
  EXPECT_THAT(read(out / "run.log"), HasSubstr("rank 3 (host0/cpu3)"));
}

TEST(Run, records_the_loss_of_every_step) {
  const Home home;
  const Json result = completed(short_run(kMirrored, 30));
  const auto history = telemetry::History::load(result["run_directory"].get<std::string>());
  ASSERT_TRUE(history) << base::to_string(history.error());
  EXPECT_EQ(history->damage(), "");
  EXPECT_EQ(history->ranks(), 4);
  EXPECT_EQ(history->result(), result);
  ASSERT_EQ(history->train_loss().size(), 30u);
  for (std::int32_t step = 0; step < 30; ++step)
    EXPECT_EQ(history->train_loss()[static_cast<std::size_t>(step)].step, step);
  EXPECT_EQ(history->train_loss().back().value, result["train_loss"].get<double>());
}

TEST(Run, result_lists_emulated_devices) {
  const Home home;
  const Json result = completed(short_run(kMirrored, 3, {"topology.hosts[0].devices[2].kind=gpu"}));
  for (const Json& rank : result["ranks"]) EXPECT_EQ(rank["emulated"], rank["rank"] == 2) << rank;
  EXPECT_THAT(
      cli({"run", kMirrored, "--steps", "2", "--set", "topology.hosts[0].devices[2].kind=tpu"}).out,
      ContainsRegex("EMULATED +1 of 4 devices"));
}

TEST(Run, prints_the_simulated_beside_the_measured_step_time) {
  const Home home;
  const Json result = completed(short_run(kMirrored, 5)),
             simulated = cli({"simulate", kMirrored, "--steps", "3", "--json"}).result();
  EXPECT_EQ(result["simulated_step_seconds"], simulated["step_seconds"]);
  EXPECT_THAT(cli({"run", kMirrored, "--steps", "2"}).out,
              ContainsRegex("simulated [^\n]*" +
                            base::format_seconds(result["simulated_step_seconds"].get<double>())));
}

TEST(Run, that_diverges_prints_a_warning) {
  const Home home;
  const Ran ran = cli({"run", kOne, "--steps", "20", "--set",
                       "training.optimizer.learning_rate=1e6", "--set", "training.clip_norm=0"});
  EXPECT_EQ(ran.exit_code, 0) << "the run completed";
  EXPECT_THAT(ran.err, ContainsRegex("warning: .* step [0-9,]+ "));
  EXPECT_THAT(ran.out, ContainsRegex("train loss +nan"));
  EXPECT_THAT(ran.err + ran.out, testing::Not(HasSubstr("-nan")));
}

TEST(Run, with_non_finite_gradients_reports_stops_or_skips_them) {
  const Home home;
  const auto with = [](const std::string& policy) {
    return cli({"run", kMirrored, "--steps", "20", "--json", "--set",
                "training.optimizer.learning_rate=1e6", "--set", "training.non_finite=" + policy});
  };
  const Ran goes_on = with("go_on");
  EXPECT_EQ(goes_on.exit_code, 0);
  EXPECT_EQ(goes_on.result()["bad_gradients"]["rank"], 0);
  EXPECT_GE(goes_on.result()["bad_gradients"]["step"], 0);
  EXPECT_EQ(goes_on.result()["bad_gradients"]["skipped_updates"], 0);
  const Ran stops = with("stop");
  EXPECT_EQ(stops.exit_code, 3);
  EXPECT_THAT(stops.problems(),
              testing::ElementsAre(testing::Pair(
                  "non_finite_gradient",
                  ContainsRegex("rank [0-3], step [0-9,]+, op W.s[0-9]+.m0: layer [0-9]+ "))));
  const Ran skips = with("skip");
  EXPECT_EQ(skips.exit_code, 0);
  EXPECT_GT(skips.result()["bad_gradients"]["skipped_updates"], 10);
}

TEST(Run, notes_ranks_that_share_cores) {
  const Home home;
  const Ran crowded =
      shell("exec taskset -c $(taskset -cp $$ | sed 's/.*: //; s/[-,].*//') \"$CLI\" run " +
            kMirrored + " --steps 2");
  EXPECT_THAT(crowded.err, ContainsRegex("note: 4 ranks [^\n]*1 core"));
  EXPECT_THAT(cli({"run", kOne, "--steps", "2"}).err, testing::Not(HasSubstr("share")));
}

TEST(Run, with_several_cores_per_rank_sets_no_spinning_unless_the_user_did) {
  const Home home;
  Json e = expanded_document(kMirrored);
  e["topology"]["hosts"][0]["devices"][1]["cores"] = 2;
  const std::string mixed = home.scratch().write("mixed.json", e.dump());
  const auto policies = [&](const std::string& before) {
    RunProgram run(home, endless_run(mixed), before);
    EXPECT_TRUE(run.wait_for_step(1));
    std::vector<std::string> found;
    for (const RankProcess& rank : run.ranks()) {
      const std::string environment = read("/proc/" + std::to_string(rank.pid) + "/environ");
      const std::size_t at = environment.find("OMP_WAIT_POLICY=");
      found.emplace_back(at == std::string::npos ? "" : environment.substr(at + 16).c_str());
    }
    run.signal(SIGINT);
    EXPECT_EQ(run.wait().exit_code, 130);
    return found;
  };
  EXPECT_EQ(policies("unset OMP_WAIT_POLICY;"), (std::vector<std::string>{"", "passive", "", ""}));
  EXPECT_EQ(policies("export OMP_WAIT_POLICY=active;"), (std::vector<std::string>(4, "active")));
}

TEST(Run, prints_readable_lines_without_json) {
  const Home home;
  auto arguments = short_run(kOne, 5);
  arguments.erase(std::find(arguments.begin(), arguments.end(), "--json"));
  const Ran ran = cli(arguments);
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(ran.out, ContainsRegex("completed[^\n]* 5 steps"));
  EXPECT_THAT(ran.out, HasSubstr("run directory"));
}

// A path is bytes, and JSON is UTF-8.
TEST(Run, with_a_data_directory_that_is_not_utf_8_is_refused_with_advice) {
  const Home home;
  const std::filesystem::path folder = home / "caf\xe9";
  std::filesystem::create_directories(folder);
  std::ofstream table(folder / "table.csv");
  table << "x,kind\n";
  for (int i = 0; i < 40; ++i) table << i << "," << i % 2 << "\n";
  table.close();
  const Ran ran = cli(with_set({"run", kOne, "--json", "--data-directory", folder.string()},
                               {"data.kind=csv", "data.file=table.csv", "data.train_samples=0",
                                "data.held_out_samples=8", "training.batch_per_rank=8"}));
  EXPECT_EQ(ran.exit_code, 2) << ran.err;
  EXPECT_THAT(ran.problems(), testing::ElementsAre(testing::Pair("not_utf8", "experiment")));
}

TEST(Run, accepts_an_output_directory_that_is_not_utf_8) {
  const Home home;
  const std::string out = (home / "caf\xe9" / "r\xfcn").string();
  auto arguments = short_run(kOne, 5);
  arguments.insert(arguments.end(), {"--out", out});
  const Ran ran = cli(arguments);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.result()["status"], "completed");
  EXPECT_EQ(Json::parse(read(std::filesystem::path(out) / "result.json"))["status"], "completed");
}

// Every rank has a connection to each of the others. Half of tests/soak/many_ranks.sh.
TEST(Run, of_32_ranks_over_sockets_completes) {
  const base::Json result =
      completed(short_run(kMirrored, 4,
                          {"run.transport=zmq", "training.batch_per_rank=2",
                           R"(topology.hosts[0].devices=[{"name": "cpu", "count": 32}])"}));
  EXPECT_EQ(result["ranks"].size(), 32u);
  EXPECT_EQ(weights_of(result).size(), 1u);
}

}  // namespace
}  // namespace trainyard::process
