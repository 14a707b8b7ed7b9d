// SPDX-License-Identifier: GPL-3.0-or-later
// The verbs that read a run: replay and export. The run is real, made once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cli_program.h"
#include "core/base/json.h"
#include "core/telemetry/recording.h"
#include "examples.h"
#include "tests/frames.h"

namespace trainyard::process {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;

class CliRecording : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    scratch_ = new Scratch;
    run_ = *scratch_ / "run";
    finished_ = cli({"run", kMirrored, "--set", "data.train_samples=640", "--set",
                     "data.held_out_samples=64", "--steps", "8", "--out", run_, "--json"});
    ASSERT_EQ(finished_.exit_code, 0) << finished_.err;
  }
  static void TearDownTestSuite() {
    delete scratch_;
    scratch_ = nullptr;
  }

  // A copy of the run whose recording lost its last bytes.
  static std::string torn(const std::string& name, std::size_t lost) {
    const fs::path copy = *scratch_ / name;
    fs::create_directories(copy);
    const std::string whole = read(fs::path(run_) / telemetry::kRecordingFile);
    scratch_->write(name + "/" + telemetry::kRecordingFile, whole.substr(0, whole.size() - lost));
    return copy;
  }

  static std::size_t count(const std::vector<base::Json>& lines, const std::string& type) {
    return static_cast<std::size_t>(std::count_if(
        lines.begin(), lines.end(), [&](const base::Json& line) { return line["type"] == type; }));
  }

  static Scratch* scratch_;
  static std::string run_;
  static Ran finished_;
};
Scratch* CliRecording::scratch_ = nullptr;
std::string CliRecording::run_;
Ran CliRecording::finished_;

TEST_F(CliRecording, replay_ends_with_the_result_of_the_run) {
  EXPECT_EQ(cli({"replay", run_, "--json"}).result(), finished_.result());
}

TEST_F(CliRecording, replay_prints_states_steps_and_log_in_order_of_time) {
  const auto lines = cli({"replay", run_, "--every", "1", "--json"}).lines();
  EXPECT_EQ(count(lines, "step"), 8u);
  EXPECT_GE(count(lines, "state"), 2u);
  EXPECT_GE(count(lines, "evaluation"), 1u);
  EXPECT_GE(count(lines, "log"), 1u);
  for (std::size_t i = 1; i + 1 < lines.size(); ++i)
    EXPECT_LE(lines[i - 1]["seconds"].get<double>(), lines[i]["seconds"].get<double>());
}

TEST_F(CliRecording, replay_refuses_an_invalid_interval) {
  const Ran ran = cli({"replay", run_, "--every", "0", "--json"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.problems(), ElementsAre(Pair("bad_value", "trainyard-cli replay --every")));
}

TEST_F(CliRecording, replay_prints_the_experiment_and_the_status) {
  const Ran ran = cli({"replay", run_, "--every", "4"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(ran.out, StartsWith("Four devices, mirrored, digits: 4 ranks"));
  EXPECT_THAT(ran.out, HasSubstr("step 7  loss "));
  EXPECT_THAT(ran.out, testing::ContainsRegex("completed[^\n]* 8 steps"));
}

TEST_F(CliRecording, replay_of_a_truncated_recording_prints_what_is_there_and_warns) {
  const Ran ran =
      cli({"replay", torn("torn", read(fs::path(run_) / telemetry::kRecordingFile).size() / 2),
           "--json"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(ran.err, StartsWith("warning: "));
  EXPECT_EQ(ran.result()["status"], "unfinished");
  EXPECT_NE(ran.result()["damage"], "");
  EXPECT_GE(count(ran.lines(), "state"), 1u);
}

// A header without the number of classes, and values of other types.
TEST_F(CliRecording, replay_of_damaged_values_prints_what_can_be_read_and_warns) {
  auto reader = telemetry::RecordingReader::open(fs::path(run_) / telemetry::kRecordingFile);
  ASSERT_TRUE(reader);
  std::string bytes;
  for (auto frame = reader->next(); frame && *frame; frame = reader->next()) {
    if ((*frame)->type == telemetry::FrameType::index) break;
    std::string payload(reinterpret_cast<const char*>((*frame)->payload.data()),
                        (*frame)->payload.size());
    if ((*frame)->type == telemetry::FrameType::header) {
      base::Json header = base::parse_json(payload, "header").value();
      header["experiment"]["data"].erase("classes");
      header["experiment"]["document"]["data"]["sharding"]["kind"] = "label_skew";
      payload = header.dump();
    } else if ((*frame)->type == telemetry::FrameType::state) {
      base::Json state = base::parse_json(payload, "state").value();
      state["time_ns"] = "soon";
      payload = state.dump();
    }
    bytes +=
        telemetry::frame_bytes(static_cast<std::uint32_t>((*frame)->type), (*frame)->rank, payload);
  }
  fs::create_directories(*scratch_ / "damaged");
  scratch_->write(std::string("damaged/") + telemetry::kRecordingFile, bytes);
  const Ran json = cli({"replay", *scratch_ / "damaged", "--json"});
  EXPECT_EQ(json.exit_code, 0) << json.err;
  EXPECT_THAT(json.err, StartsWith("warning: "));
  EXPECT_EQ(json.result()["status"], "completed");
  const Ran text = cli({"replay", *scratch_ / "damaged"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("completed"));
}

TEST_F(CliRecording, replay_and_export_refuse_paths_without_a_run) {
  const Scratch scratch;
  scratch.write(telemetry::kRecordingFile,
                "this is not a recording, but long enough to have been one");
  for (const std::string& directory :
       {std::string(scratch / "nowhere"), std::string(scratch / ""), std::string("/dev/null")}) {
    EXPECT_EQ(cli({"replay", directory}).exit_code, 2) << directory;
    const Ran ran =
        cli({"export", directory, "--format", "csv", "--out", scratch / "out.csv", "--json"});
    EXPECT_EQ(ran.exit_code, 2) << directory;
    EXPECT_THAT(ran.problems(), ElementsAre(Pair(testing::_, StartsWith(directory))));
    EXPECT_FALSE(fs::exists(scratch / "out.csv"));
  }
}

TEST_F(CliRecording, replay_reports_how_to_make_a_run) {
  const Scratch scratch;
  const std::string empty = scratch / "", nowhere = scratch / "nowhere",
                    file = scratch.write("file", "");
  for (const std::string& directory : {empty, nowhere, file}) {
    const Ran ran = cli({"replay", directory, "--json"});
    EXPECT_EQ(ran.exit_code, 2) << directory;
    EXPECT_THAT(ran.problems(), ElementsAre(Pair("not_a_run", directory)));
    EXPECT_THAT(ran.result()["problems"][0]["accepted"].get<std::string>(),
                HasSubstr("trainyard-cli run"));
  }
}

TEST_F(CliRecording, replay_cannot_recompute_a_run_without_an_order) {
  const Ran ran = cli({"replay", run_, "--recompute", "--json"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.problems(), ElementsAre(Pair("nothing_to_replay", run_)));
}

TEST_F(CliRecording, export_csv_has_every_logged_step) {
  const std::string file = *scratch_ / "run.csv";
  const Ran ran = cli({"export", run_, "--format", "csv", "--out", file, "--json"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  const std::string text = read(file);
  EXPECT_EQ(ran.result()["bytes"], text.size());
  EXPECT_TRUE(text.starts_with("metric,rank,index,step,seconds,value,text\n"));
  for (int step = 0; step < 8; ++step)
    EXPECT_THAT(text, HasSubstr("\ntrain_loss,-1,0," + std::to_string(step) + ","));
}

TEST_F(CliRecording, export_trace_has_the_op_names_of_the_plan) {
  const std::string file = *scratch_ / "run.trace.json";
  const Ran ran = cli({"export", run_, "--format", "trace", "--out", file});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(ran.err, testing::EndsWith(" " + file + "\n"));
  const base::Json trace = base::Json::parse(read(file), nullptr, false);
  ASSERT_TRUE(trace.is_object());
  std::size_t loads = 0;
  for (const base::Json& event : trace["traceEvents"])
    loads += event["name"] == "LOAD.m0" && event["args"].value("program", "") == "train" ? 1 : 0;
  EXPECT_EQ(loads, 4u * 8u);
}

TEST_F(CliRecording, export_of_a_truncated_recording_writes_what_is_there_and_warns) {
  const std::string directory =
      torn("torn_for_export", read(fs::path(run_) / telemetry::kRecordingFile).size() / 3);
  for (const std::string format : {"csv", "trace"}) {
    const Ran ran = cli({"export", directory, "--format", format, "--out",
                         *scratch_ / ("torn." + format), "--json"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_THAT(ran.err, StartsWith("warning: "));
    EXPECT_NE(ran.result()["damage"], "");
    EXPECT_GT(ran.result()["bytes"].get<std::int64_t>(), 100);
  }
  EXPECT_TRUE(base::Json::parse(read(*scratch_ / "torn.trace"), nullptr, false).is_object());
}

TEST_F(CliRecording, export_that_fails_keeps_the_old_file_and_leaves_no_temporary) {
  const fs::path directory = *scratch_ / "taken";
  fs::create_directories(directory / "inside");  // a directory that is not empty cannot be replaced
  const Ran ran = cli({"export", run_, "--format", "csv", "--out", directory, "--json"});
  EXPECT_NE(ran.exit_code, 0);
  EXPECT_THAT(ran.problems(), ElementsAre(Pair("system_error", directory.string())));
  EXPECT_TRUE(fs::is_directory(directory / "inside"));
  for (const fs::directory_entry& entry : fs::directory_iterator(directory.parent_path()))
    EXPECT_EQ(entry.path().string().find(".partial"), std::string::npos) << entry.path();
  EXPECT_NE(cli({"export", run_, "--format", "csv", "--out", "/proc/nowhere/run.csv"}).exit_code,
            0);
}

TEST_F(CliRecording, export_writes_through_links_and_into_pipes_without_replacing_them) {
  const fs::path link = *scratch_ / "link.csv", file = *scratch_ / "behind.csv",
                 pipe = *scratch_ / "pipe";
  scratch_->write("behind.csv", "old");
  fs::create_symlink(file, link);
  ASSERT_EQ(cli({"export", run_, "--format", "csv", "--out", link}).exit_code, 0);
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_TRUE(read(file).starts_with("metric,rank"));
  const Ran ran = shell("mkfifo " + pipe.string() + " && cat " + pipe.string() +
                        " & sleep 0.1; \"$CLI\" export " + run_ + " --format csv --out " +
                        pipe.string() + "; wait");
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_EQ(ran.out, read(file));
}

TEST_F(CliRecording, export_refuses_unknown_formats) {
  EXPECT_EQ(cli({"export", run_, "--format", "tensorboard", "--out", "x"}).exit_code, 2);
}

}  // namespace
}  // namespace trainyard::process
