// SPDX-License-Identifier: GPL-3.0-or-later
// Runs whose recording reaches its limit: what every command says about them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <charconv>
#include <filesystem>
#include <map>
#include <sstream>

#include "core/base/json.h"
#include "core/telemetry/history.h"
#include "examples.h"
#include "run_program.h"

namespace trainyard::process {
namespace {

namespace fs = std::filesystem;
using base::Json;
using telemetry::History;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;
using testing::SizeIs;

constexpr std::int64_t kLimit = 3'000'000;
constexpr int kSteps = 1'500;

std::vector<std::string> long_run(const std::string& experiment, int steps,
                                  std::int64_t limit = kLimit) {
  return with_set(
      {"run", experiment, "--json", "--steps", std::to_string(steps)},
      {"data.train_samples=640", "data.held_out_samples=200", "training.batch_per_rank=2",
       "run.recording_limit_bytes=" + std::to_string(limit)});
}

std::uintmax_t recorded_bytes(const fs::path& run) {
  std::uintmax_t bytes = 0;
  for (const auto& file : fs::directory_iterator(run))
    if (file.path().filename().string().starts_with("recording")) bytes += file.file_size();
  return bytes;
}

class LongRuns : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    scratch_ = new Scratch;
    run_ = *scratch_ / "run";
    const Ran ran = cli(with(long_run(kMirrored, kSteps), {"--out", run_}));
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    result_ = new Json(ran.result());
  }
  static void TearDownTestSuite() {
    delete result_;
    delete scratch_;
  }
  static Scratch* scratch_;
  static std::string run_;
  static Json* result_;
};
Scratch* LongRuns::scratch_ = nullptr;
std::string LongRuns::run_;
Json* LongRuns::result_ = nullptr;

TEST_F(LongRuns, stay_below_the_limit_and_state_what_was_dropped) {
  EXPECT_LE(recorded_bytes(run_), static_cast<std::uintmax_t>(kLimit));
  const Json& recording = (*result_)["recording"];
  EXPECT_GT(recording["from_step"], 0);
  EXPECT_GT(recording["dropped_ops"], 0);
  EXPECT_GT(recording["summarized_values"], 0);
  const History history = *History::load(run_);
  EXPECT_EQ(history.train_loss().size(), std::size_t{kSteps});
  EXPECT_EQ(history.damage(), "");
}

TEST_F(LongRuns, are_verified_except_for_what_was_dropped) {
  const Ran ran = cli({"verify", run_, "--json"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  std::vector<std::string> skipped, mismatches;
  for (const Json& line : ran.lines()) {
    if (line["type"] != "check") continue;
    if (line["status"] == "not_checked") {
      skipped.push_back(line["name"]);
      EXPECT_THAT(line["note"].get<std::string>(), HasSubstr("the recording is thinned"));
    }
    if (line["status"] == "mismatch") mismatches.push_back(line["name"]);
  }
  EXPECT_THAT(skipped,
              testing::UnorderedElementsAre("step_seconds.median", "step_seconds.p95", "op_bytes"));
  EXPECT_THAT(mismatches, IsEmpty());
}

TEST_F(LongRuns, have_exports_whose_totals_equal_the_result) {
  const std::string file = *scratch_ / "run.csv";
  const Ran ran = cli({"export", run_, "--format", "csv", "--out", file});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("thinned from step"));
  double samples = 0;
  std::map<std::string, double> sent;  // Last total by rank and peer.
  std::istringstream lines(read(file));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream cells(line);
    std::string metric, rank, index, step, seconds, value;
    for (std::string* cell : {&metric, &rank, &index, &step, &seconds, &value})
      std::getline(cells, *cell, ',');
    if (metric == "samples") samples += std::stod(value);
    if (metric == "sent_payload_bytes") sent[rank + "," + index] = std::stod(value);
  }
  double bytes = 0;
  for (const auto& [pair, total] : sent) bytes += total;
  EXPECT_EQ(samples, (*result_)["samples"].get<double>());
  EXPECT_EQ(bytes, (*result_)["wire_bytes"]["payload"].get<double>());
}

TEST_F(LongRuns, are_replayed_with_a_note) {
  const Ran ran = cli({"replay", run_});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("completed after 1500 steps"));
  EXPECT_THAT(ran.err, HasSubstr("the recording is thinned from step"));
}

TEST_F(LongRuns, are_announced_before_the_run) {
  const auto checked = [&](std::int64_t limit) {
    return cli(with_set({"check", kMirrored, "--json"},
                        {"run.recording_limit_bytes=" + std::to_string(limit)}))
        .result()["recording"];
  };
  const Json complete = checked(0), thinned = checked(20'000'000);
  EXPECT_EQ(complete["thinned_from_step"], -1);
  EXPECT_EQ(complete["bytes"], complete["complete_bytes"]);
  EXPECT_GT(thinned["thinned_from_step"], 0);
  EXPECT_LE(thinned["bytes"], 20'000'000);
  EXPECT_EQ(thinned["complete_bytes"], complete["bytes"]);
}

TEST_F(LongRuns, have_about_the_estimated_size) {
  const Ran checked = cli({"check", run_ + "/resolved.json", "--json"});
  ASSERT_EQ(checked.exit_code, 0) << checked.err;
  const double estimate = checked.result()["recording"]["bytes"],
               size = static_cast<double>(recorded_bytes(run_));
  EXPECT_GT(estimate, 0.8 * size);
  EXPECT_LT(estimate, 1.5 * size);
}

// The estimate comes from the plan and a formula, and the size from the disk.
TEST(LongRunEstimate, agrees_with_a_complete_recording) {
  const Scratch scratch;
  const std::string run = scratch / "run";
  ASSERT_EQ(cli(with(long_run(kMirrored, 200, 0), {"--out", run})).exit_code, 0);
  const Ran checked = cli({"check", run + "/resolved.json", "--json"});
  ASSERT_EQ(checked.exit_code, 0) << checked.err;
  const double estimate = checked.result()["recording"]["bytes"],
               size = static_cast<double>(recorded_bytes(run));
  EXPECT_GT(estimate, 0.8 * size);
  EXPECT_LT(estimate, 1.25 * size);
}

TEST(LongAsynchronousRuns, are_recomputed_and_verified) {
  const Scratch scratch;
  const std::string run = scratch / "run";
  const Ran ran = cli(with(long_run(kServed, 400, kLimit / 6), {"--out", run}));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  ASSERT_TRUE(ran.result().contains("recording"));
  const Ran recomputed = cli({"replay", run, "--recompute"});
  EXPECT_EQ(recomputed.exit_code, 0) << recomputed.err;
  const Ran verified = cli({"verify", run, "--json"});
  EXPECT_EQ(verified.exit_code, 0) << verified.out;
}

TEST(LongRunFaults, have_the_ops_around_a_lost_rank) {
  const Home home;
  auto arguments = endless_run(kServed, {"run.record_ops=true", "training.batch_per_rank=2",
                                         "run.recording_limit_bytes=3000000"});
  RunProgram run(home, arguments);
  ASSERT_TRUE(run.wait_for_step(400));
  ASSERT_EQ(::kill(run.ranks().front().pid, SIGKILL), 0);
  ASSERT_TRUE(run.wait_for_step(1'200));
  run.signal(SIGINT);
  run.wait();
  const History history = *History::load(run.run_directory());
  ASSERT_THAT(history.faults(), Not(IsEmpty()));
  const auto step = static_cast<int>(history.faults().front().step);
  ASSERT_GT(history.thinned_until(), step);
  std::map<int, int> ops;
  for (const telemetry::OpRecord& op : history.ops()) ++ops[op.step];
  EXPECT_GT(ops.count(step - 1) + ops.count(step) + ops.count(step + 1), 1u)
      << "at step " << step << " of " << ops.size() << " recorded ones";
}

}  // namespace
}  // namespace trainyard::process
