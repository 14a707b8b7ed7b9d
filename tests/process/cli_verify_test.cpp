// SPDX-License-Identifier: GPL-3.0-or-later
// verify: a run agrees with itself, and every altered figure is found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "cli_program.h"
#include "core/base/json.h"
#include "core/telemetry/recording.h"
#include "examples.h"

namespace trainyard::process {
namespace {

namespace fs = std::filesystem;
using base::Json;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

std::vector<std::string> small_run(const std::string& experiment, int steps,
                                   const std::vector<std::string>& overrides = {}) {
  return with_set({"run", experiment, "--json", "--steps", std::to_string(steps)},
                  with({"data.train_samples=640", "data.held_out_samples=200"}, overrides));
}

// Checks by name.
std::map<std::string, Json> checks_of(const Ran& ran) {
  std::map<std::string, Json> checks;
  for (const Json& line : ran.lines())
    if (line["type"] == "check") checks.emplace(line["name"].get<std::string>(), line);
  return checks;
}

std::vector<std::string> names_with(const Ran& ran, const std::string& status) {
  std::vector<std::string> names;
  for (const Json& line : ran.lines())
    if (line["type"] == "check" && line["status"] == status) names.push_back(line["name"]);
  return names;
}

class CliVerify : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    scratch_ = new Scratch;
    run_ = *scratch_ / "run";
    const Ran ran = cli(with(small_run(kMirrored, 8), {"--out", run_}));
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
  }
  static void TearDownTestSuite() {
    delete scratch_;
    scratch_ = nullptr;
  }

  static fs::path copy(const std::string& name) {
    const fs::path to = *scratch_ / name;
    fs::copy(run_, to, fs::copy_options::recursive);
    return to;
  }

  // Verifies a copy of the run whose result has another value at `pointer`.
  static Ran with_stated(const std::string& pointer, const Json& value) {
    static int number = 0;
    const std::string name = "altered" + std::to_string(++number);
    const fs::path altered = copy(name);
    Json result = Json::parse(read(altered / "result.json"));
    result[Json::json_pointer(pointer)] = value;
    scratch_->write(name + "/result.json", result.dump());
    return cli({"verify", altered, "--json"});
  }

  static Json stated(const std::string& pointer) {
    return Json::parse(read(fs::path(run_) / "result.json"))[Json::json_pointer(pointer)];
  }

  static Scratch* scratch_;
  static std::string run_;
};
Scratch* CliVerify::scratch_ = nullptr;
std::string CliVerify::run_;

TEST_F(CliVerify, a_run_agrees_with_its_recording_and_its_checkpoint) {
  const Ran ran = cli({"verify", run_, "--json"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  EXPECT_THAT(names_with(ran, "mismatch"), IsEmpty());
  EXPECT_THAT(names_with(ran, "not_checked"), IsEmpty());
  EXPECT_EQ(ran.result()["matches"], true);
  EXPECT_EQ(ran.result()["mismatches"], 0);
  EXPECT_EQ(ran.result()["ok"], checks_of(ran).size());
  EXPECT_EQ(checks_of(ran)["samples"]["recomputed"], 8 * 128);
}

TEST_F(CliVerify, prints_one_line_per_check_and_a_total) {
  const Ran ran = cli({"verify", run_});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(ran.out, testing::ContainsRegex("ok +samples +stated 1024  recomputed 1024\n"));
  EXPECT_THAT(ran.out, testing::ContainsRegex("[0-9]+ checks: [0-9]+ ok, 0 mismatches"));
}

TEST(CliVerifyOrder, finds_a_missing_and_a_damaged_order) {
  const Scratch scratch;
  const std::string run = scratch / "run";
  ASSERT_EQ(cli(with(small_run(kServed, 20), {"--out", run})).exit_code, 0);
  const auto verified = [&] {
    const Ran ran = cli({"verify", run, "--json"});
    return std::pair(ran.exit_code, names_with(ran, "mismatch"));
  };
  EXPECT_EQ(verified(), std::pair(0, std::vector<std::string>{}));
  const std::string file = run + "/order.try", order = read(file);
  const std::pair<int, std::vector<std::string>> wrong(3, {"order"});
  std::string damaged = order;
  damaged[damaged.size() / 2] ^= 1;
  for (const std::string& text : {damaged, order.substr(0, order.size() / 2)}) {
    std::ofstream(file, std::ios::binary) << text;
    EXPECT_EQ(verified(), wrong);
  }
  fs::remove(file);
  EXPECT_EQ(verified(), wrong);
}

TEST(CliVerifyLosses, checks_those_that_are_not_finite) {
  const Scratch scratch;
  const std::string run = scratch / "run";
  ASSERT_EQ(
      cli(with(small_run(kMirrored, 8, {"training.optimizer.learning_rate=1e6"}), {"--out", run}))
          .exit_code,
      0);
  const Ran ran = cli({"verify", run, "--json"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  for (const char* name : {"train_loss", "held_out_loss", "recorded_held_out_loss"})
    EXPECT_EQ(checks_of(ran)[name]["status"], "ok") << name;
}

TEST_F(CliVerify, finds_an_altered_count) {
  for (const auto& [pointer, name] :
       {std::pair("/steps", "steps"), std::pair("/samples", "samples"),
        std::pair("/samples", "assigned_samples"),
        std::pair("/wire_bytes/payload", "wire_bytes.payload"),
        std::pair("/wire_bytes/payload", "op_bytes"),
        std::pair("/wire_bytes/header", "wire_bytes.header"),
        std::pair("/ranks/1/sent_bytes", "ranks.1.sent_bytes"),
        std::pair("/ranks/3/received_bytes", "ranks.3.received_bytes")}) {
    const Ran ran = with_stated(pointer, stated(pointer).get<std::int64_t>() + 1);
    EXPECT_EQ(ran.exit_code, 3) << pointer;
    EXPECT_THAT(names_with(ran, "mismatch"), Contains(name)) << pointer;
    EXPECT_EQ(ran.result()["matches"], false) << pointer;
  }
}

TEST_F(CliVerify, finds_an_altered_loss_accuracy_or_time) {
  for (const auto& [pointer, name] :
       {std::pair("/train_loss", "train_loss"), std::pair("/held_out_loss", "held_out_loss"),
        std::pair("/held_out_loss", "recorded_held_out_loss"),
        std::pair("/held_out_accuracy", "held_out_accuracy"),
        std::pair("/held_out_accuracy", "recorded_held_out_accuracy"),
        std::pair("/step_seconds/median", "step_seconds.median")}) {
    const Ran ran = with_stated(pointer, stated(pointer).get<double>() * 1.01);
    EXPECT_EQ(ran.exit_code, 3) << pointer;
    EXPECT_THAT(names_with(ran, "mismatch"), Contains(name)) << pointer;
  }
}

TEST_F(CliVerify, finds_an_altered_hash_and_a_removed_figure) {
  const Ran hash = with_stated("/ranks/0/parameters_xxh64", "0123456789abcdef");
  EXPECT_EQ(hash.exit_code, 3);
  EXPECT_THAT(names_with(hash, "mismatch"), ElementsAre("result.json", "ranks.0.parameters_xxh64"));
  const Ran removed = with_stated("/train_loss", nullptr);
  EXPECT_EQ(removed.exit_code, 3);
  EXPECT_THAT(names_with(removed, "mismatch"), ElementsAre("result.json", "train_loss"));
}

// Figures that cannot be recomputed are compared with the recording.
TEST_F(CliVerify, finds_every_other_altered_value) {
  for (const auto& [pointer, value] : {std::pair<const char*, Json>{"/status", "failed"},
                                       {"/samples_per_second", 1e9},
                                       {"/wall_seconds", 1e-9},
                                       {"/ranks", Json::array()},
                                       {"/engine", "gloo"},
                                       {"/problem", {{"id", "x"}}}}) {
    const Ran ran = with_stated(pointer, value);
    EXPECT_EQ(ran.exit_code, 3) << pointer;
    EXPECT_THAT(names_with(ran, "mismatch"), Contains("result.json")) << pointer;
    EXPECT_THAT(checks_of(ran)["result.json"]["note"].get<std::string>(),
                HasSubstr(std::string(pointer).substr(1)));
  }
}

TEST_F(CliVerify, finds_a_missing_result_and_an_altered_experiment) {
  const fs::path missing = copy("missing_result"), altered = copy("altered_experiment");
  fs::remove(missing / "result.json");
  EXPECT_THAT(names_with(cli({"verify", missing, "--json"}), "not_checked"),
              ElementsAre("result.json"));
  Json resolved = Json::parse(read(altered / "resolved.json"));
  resolved["document"]["name"] = "altered";
  scratch_->write("altered_experiment/resolved.json", resolved.dump());
  EXPECT_THAT(names_with(cli({"verify", altered, "--json"}), "mismatch"),
              Contains("resolved.json"));
}

TEST_F(CliVerify, without_a_checkpoint_checks_the_rest) {
  const fs::path without = copy("without_checkpoint");
  fs::remove_all(without / "checkpoints");
  const Ran ran = cli({"verify", without, "--json"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(names_with(ran, "not_checked"),
              ElementsAre("checkpoint", "held_out_loss", "held_out_accuracy"));
  EXPECT_THAT(checks_of(ran)["held_out_loss"]["note"].get<std::string>(),
              HasSubstr("no checkpoint"));
  EXPECT_EQ(checks_of(ran)["recorded_held_out_loss"]["status"], "ok");
}

TEST_F(CliVerify, finds_a_damaged_checkpoint) {
  const fs::path damaged = copy("damaged_checkpoint");
  for (const auto& file : fs::recursive_directory_iterator(damaged / "checkpoints"))
    if (file.path().extension() == ".safetensors") fs::resize_file(file.path(), 1000);
  const Ran ran = cli({"verify", damaged, "--json"});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(names_with(ran, "mismatch"), ElementsAre("checkpoint"));
}

TEST_F(CliVerify, reports_a_damaged_recording_and_what_it_cannot_check) {
  const fs::path damaged = copy("damaged_recording"), file = damaged / telemetry::kRecordingFile;
  fs::resize_file(file, fs::file_size(file) / 2);
  const Ran ran = cli({"verify", damaged, "--json"});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(names_with(ran, "mismatch"), ElementsAre("recording"));
  EXPECT_THAT(names_with(ran, "not_checked"), Contains("samples"));
  EXPECT_EQ(checks_of(ran)["held_out_loss"]["status"], "ok") << "from the checkpoint";
  EXPECT_NE(ran.result()["damage"], "");
}

TEST_F(CliVerify, refuses_a_directory_without_a_run) {
  const std::string nowhere = *scratch_ / "nowhere";
  const Ran ran = cli({"verify", nowhere, "--json"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.problems(), ElementsAre(Pair("not_a_run", nowhere)));
}

TEST(CliVerifyRuns, names_ops_that_were_not_recorded) {
  const Scratch scratch;
  const std::string run = scratch / "run";
  ASSERT_EQ(cli(with(small_run(kMirrored, 4, {"run.record_ops=false"}), {"--out", run})).exit_code,
            0);
  const Ran ran = cli({"verify", run, "--json"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  EXPECT_THAT(names_with(ran, "not_checked"), ElementsAre("op_bytes"));
  EXPECT_THAT(checks_of(ran)["op_bytes"]["note"].get<std::string>(), HasSubstr("run.record_ops"));
}

// An update of softsync takes 2 gradients, and that of backup_workers 3 of 4.
TEST(CliVerifyRuns, of_gradients_that_are_not_applied_agree) {
  const Scratch scratch;
  int number = 0;
  for (const std::vector<std::string>& servers :
       {std::vector<std::string>{"strategy.servers.mode=softsync", "strategy.servers.softsync=2"},
        {"strategy.servers.mode=softsync", "strategy.servers.softsync=1", "run.clock=virtual"},
        {"strategy.servers.mode=backup_workers"}}) {
    const std::string run = scratch / ("run" + std::to_string(++number));
    ASSERT_EQ(cli(with(small_run(kServed, 9, servers), {"--out", run})).exit_code, 0);
    const Ran ran = cli({"verify", run, "--json"});
    EXPECT_EQ(ran.exit_code, 0) << ran.out;
    EXPECT_EQ(checks_of(ran)["assigned_samples"]["status"], "ok");
    EXPECT_EQ(checks_of(ran)["train_loss"]["status"], "ok");
  }
}

TEST(CliVerifyRuns, of_other_strategies_agree) {
  const Scratch scratch;
  int number = 0;
  for (const std::string& experiment :
       {kOne, kServed, kGossip, example("two_devices_model_parallel_digits"),
        example("four_devices_local_sgd_digits"), example("two_devices_gpt_grammar")}) {
    const std::string run = scratch / ("run" + std::to_string(++number));
    ASSERT_EQ(cli(with(small_run(experiment, 20), {"--out", run})).exit_code, 0) << experiment;
    const Ran ran = cli({"verify", run, "--json"});
    EXPECT_EQ(ran.exit_code, 0) << experiment << "\n" << ran.out;
    EXPECT_EQ(checks_of(ran)["held_out_loss"]["status"], "ok") << experiment;
    EXPECT_EQ(checks_of(ran)["samples"]["status"], "ok") << experiment;
  }
}

}  // namespace
}  // namespace trainyard::process
