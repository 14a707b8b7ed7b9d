// SPDX-License-Identifier: GPL-3.0-or-later
// Checkpoints that servers write while workers train, and runs that go on from them.
#include "core/session/checkpoint/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <tuple>

#include "core/base/file.h"
#include "core/base/json.h"
#include "examples.h"
#include "run_program.h"

namespace trainyard::process {
namespace {

namespace fs = std::filesystem;
using base::Json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

const std::string kTwoServers = "topology.hosts[0].devices[3].role=parameter_server";

std::vector<std::string> is_lockstep(std::vector<std::string> more = {}) {
  more.insert(more.end(), {"strategy.servers.mode=synchronous", "training.optimizer.momentum=0.9"});
  return more;
}

std::string weights(const Json& result) { return result["ranks"][0]["parameters_xxh64"]; }
std::string directory(const Json& result) { return result["run_directory"]; }
std::int64_t newest(const fs::path& run) {
  const auto info = session::newest_checkpoint(run / "checkpoints");
  return info ? info->step : -1;
}

std::vector<std::string> resumed(std::vector<std::string> arguments, const std::string& from) {
  arguments.insert(arguments.end(), {"--resume", from});
  return arguments;
}

// The moments of servers and the order of samples too: as if it had never been interrupted.
TEST(Checkpoints, in_lockstep_resume_to_the_same_weights) {
  const Home home;
  for (const std::string optimizer : {"sgd", "adam"})
    for (const auto& drawing :
         {std::vector<std::string>{}, std::vector<std::string>{kTwoServers}}) {
      auto overrides = is_lockstep(drawing);
      overrides.push_back("training.optimizer.kind=" + optimizer);
      if (optimizer == "adam") overrides.push_back("training.optimizer.learning_rate=0.002");
      const Json whole = completed(short_run(kServed, 60, overrides));
      const Json half = completed(short_run(kServed, 37, overrides));
      EXPECT_EQ(newest(directory(half)), 37);
      EXPECT_EQ(half["committed_step"], 37);
      const Json rest = completed(resumed(short_run(kServed, 60, overrides), directory(half)));
      EXPECT_EQ(rest["first_step"], 37);
      EXPECT_EQ(rest["steps"], 23) << "its local allocations follow";
      EXPECT_EQ(weights(rest), weights(whole)) << optimizer << ", " << drawing.size();
      EXPECT_NE(weights(half), weights(whole));
    }
}

TEST(Checkpoints, are_written_at_the_interval_and_two_are_kept) {
  const Home home;
  const Json result =
      completed(short_run(kServed, 100, is_lockstep({"run.checkpoint_every_steps=20"})));
  EXPECT_EQ(newest(directory(result)), 100);
  int kept = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(directory(result)) / "checkpoints"))
    kept += entry.is_directory() ? 1 : 0;
  EXPECT_LE(kept, 2);
  EXPECT_THAT(read(fs::path(directory(result)) / "run.log"),
              testing::ContainsRegex("checkpoint [^\n]*step 100[^0-9]"));
}

// The files of newer checkpoints that a resumed run could not use.
std::vector<std::string> skipped_checkpoints(const Json& result) {
  std::vector<std::string> files;
  for (const Json& problem : result.value("skipped_checkpoints", Json::array())) {
    EXPECT_EQ(problem["id"], "damaged_checkpoint");
    files.push_back(problem["where"]);
  }
  return files;
}

// The run's end, once its server is killed.
Ran end_without_server(RunProgram& run) {
  const auto ranks = run.ranks();
  const pid_t server = ranks.size() == 5 ? ranks[kServer].pid : 0;
  EXPECT_GT(server, 1) << "no other process may be killed";
  if (server > 1) ::kill(server, SIGKILL);
  return run.wait();
}

// No step covered by a checkpoint is lost, whichever process is killed and whenever.
TEST(Checkpoints, of_a_killed_server_lose_no_committed_step) {
  const Home home;
  const Json whole = completed(short_run(kServed, 400, is_lockstep()));
  for (const int first : {5, 60, 130}) {
    const Home own;
    auto arguments = endless_run(kServed, is_lockstep({"run.checkpoint_every_steps=10"}));
    RunProgram run(own, arguments);
    ASSERT_TRUE(run.wait_for_step(first));
    const Ran ran = end_without_server(run);
    EXPECT_EQ(ran.exit_code, 3);
    EXPECT_EQ(ran.result()["problem"]["where"], "rank 4 (host0/server)");
    const std::int64_t committed = ran.result().value("committed_step", -1);
    EXPECT_EQ(newest(run.run_directory()), committed);
    if (committed < 0) continue;
    EXPECT_THAT(ran.result()["problem"]["advice"].get<std::string>(),
                HasSubstr("--resume " + run.run_directory().string()));
    if (committed >= 400) continue;
    const Json rest =
        completed(resumed(short_run(kServed, 400, is_lockstep()), run.run_directory()));
    EXPECT_EQ(rest["first_step"], committed);
    EXPECT_EQ(weights(rest), weights(whole));
  }
}

TEST(Checkpoints, are_recommended_when_a_run_fails_without_any) {
  const Home home;
  RunProgram run(home, endless_run(kServed, is_lockstep()));
  ASSERT_TRUE(run.wait_for_step(5));
  const Ran ran = end_without_server(run);
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_FALSE(ran.result().contains("committed_step"));
  EXPECT_THAT(ran.result()["problem"]["advice"].get<std::string>(),
              HasSubstr("run.checkpoint_every_steps"));
}

TEST(Checkpoints, of_asynchronous_runs_resume_and_the_order_since_then_is_replayed) {
  for (const auto& drawing : {std::vector<std::string>{}, std::vector<std::string>{kTwoServers}}) {
    const Home home;
    std::vector<std::string> saving = drawing;
    saving.emplace_back("run.checkpoint_every_steps=30");
    const Json half = completed(short_run(kServed, 100, saving));
    const Json rest = completed(resumed(short_run(kServed, 160, drawing), directory(half)));
    EXPECT_EQ(rest["first_step"], 100);
    EXPECT_EQ(rest["steps"], 60);
    const Ran again = cli({"replay", directory(rest), "--recompute", "--json"});
    ASSERT_EQ(again.exit_code, 0) << again.err;
    EXPECT_EQ(again.result()["parameters_xxh64"], weights(rest));
    EXPECT_EQ(again.result()["gradients"], 60);
  }
}

TEST(Checkpoints, include_running_statistics_written_by_a_remaining_worker) {
  const Home home;
  const std::vector<std::string> overrides{"model.layers[1].kind=batch_norm",
                                           "run.checkpoint_every_steps=20"};
  RunProgram run(home, endless_run(kServed, overrides));
  ASSERT_TRUE(run.wait_for_step(50));
  const auto ranks = run.ranks();
  ASSERT_EQ(ranks.size(), 5u);
  ASSERT_GT(ranks[0].pid, 1);
  ::kill(ranks[0].pid, SIGKILL);
  const std::int64_t before = newest(run.run_directory());
  EXPECT_TRUE(wait_until(30, [&] { return newest(run.run_directory()) > before + 100; }))
      << "the chief was lost: another has its duty";
  run.signal(SIGINT);
  const Ran ran = run.wait();
  const Json rest = completed(
      resumed(short_run(kServed, static_cast<int>(newest(run.run_directory())) + 40, overrides),
              run.run_directory()));
  EXPECT_GT(rest["first_step"], 100);
}

TEST(Checkpoints, that_are_damaged_are_skipped_and_of_another_model_are_refused) {
  const Home home;
  const Json half =
      completed(short_run(kServed, 50, is_lockstep({"run.checkpoint_every_steps=40"})));
  const fs::path checkpoints = fs::path(directory(half)) / "checkpoints";
  ASSERT_TRUE(fs::exists(checkpoints / "step-40"));
  for (const auto& entry : fs::directory_iterator(checkpoints / "step-50"))
    if (entry.path().extension() == ".safetensors")
      fs::resize_file(entry.path(), fs::file_size(entry.path()) / 2);
  const Ran rest = cli(resumed(short_run(kServed, 60, is_lockstep()), directory(half)));
  EXPECT_EQ(rest.exit_code, 0);
  EXPECT_EQ(rest.result()["first_step"], 40);
  EXPECT_THAT(skipped_checkpoints(rest.result()), ElementsAre(HasSubstr("/step-50/")));
  EXPECT_THAT(read(fs::path(directory(rest.result())) / "run.log"), HasSubstr("/step-50/"));
  const Ran other = cli(
      resumed(short_run(kServed, 60, is_lockstep({"model.layers[0].units=77"})), directory(half)));
  EXPECT_EQ(other.exit_code, 4);
  EXPECT_THAT(other.problems(), ElementsAre(Pair("checkpoint_of_other_model", HasSubstr("step-"))));
  const Ran enough = cli(resumed(short_run(kServed, 40, is_lockstep()), directory(half)));
  EXPECT_EQ(enough.exit_code, 2);
  EXPECT_THAT(enough.problems(), ElementsAre(Pair("checkpoint_too_late", "--resume")));
  const Ran none = cli(resumed(short_run(kServed, 40, is_lockstep()), (home / "nowhere").string()));
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.problems(), ElementsAre(Pair("missing_file", "--resume")));
  fs::create_directories(home / "empty");
  EXPECT_THAT(
      cli(resumed(short_run(kServed, 40, is_lockstep()), (home / "empty").string())).problems(),
      ElementsAre(Pair("no_checkpoint", (home / "empty/checkpoints").string())));
}

TEST(Checkpoints, with_a_flipped_bit_in_a_server_shard_are_skipped) {
  const Home home;
  const Json half = completed(
      short_run(kServed, 50, is_lockstep({kTwoServers, "run.checkpoint_every_steps=40"})));
  const fs::path newest = fs::path(directory(half)) / "checkpoints" / "step-50";
  std::vector<fs::path> parts;
  for (const auto& entry : fs::directory_iterator(newest))
    if (entry.path().extension() == ".safetensors") parts.push_back(entry.path());
  ASSERT_EQ(parts.size(), 2u) << "of two servers";
  for (const fs::path& part : parts) {
    const std::string whole = read(part);
    std::string flipped = whole;
    flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 1);
    ASSERT_TRUE(base::write_file_atomically(part, flipped));
    const Ran rest =
        cli(resumed(short_run(kServed, 60, is_lockstep({kTwoServers})), directory(half)));
    EXPECT_EQ(rest.exit_code, 0) << rest.err;
    EXPECT_EQ(rest.result()["first_step"], 40);
    EXPECT_THAT(skipped_checkpoints(rest.result()), ElementsAre(part.string()));
    ASSERT_TRUE(base::write_file_atomically(part, whole)) << "the existing content is unchanged";
  }
  EXPECT_EQ(completed(resumed(short_run(kServed, 60, is_lockstep({kTwoServers})),
                              directory(half)))["first_step"],
            50);
}

// A pace is of the steps that are made, not of those that another run has made.
TEST(Checkpoints, resume_at_the_configured_pace) {
  const Home home;
  const Json half =
      completed(short_run(kServed, 400, is_lockstep({"run.checkpoint_every_steps=400"})));
  const Json rest = completed(
      resumed(short_run(kServed, 410, is_lockstep({"run.seconds_per_step=0.1"})), directory(half)));
  EXPECT_EQ(rest["first_step"], 400);
  EXPECT_LT(rest["first_step_seconds"], 20)
      << "not after the forty seconds that all steps before would have taken";
}

TEST(Checkpoints, of_a_run_in_progress_are_not_resumed) {
  const Home home;
  RunProgram run(home, endless_run(kServed, {"run.checkpoint_every_steps=10"}));
  ASSERT_TRUE(run.wait_for_step(30));
  const Ran ran = cli(resumed(short_run(kServed, 100'000), run.run_directory()));
  EXPECT_EQ(ran.exit_code, 4);
  EXPECT_THAT(ran.problems(), ElementsAre(Pair("run_in_progress", "--resume")));
}

TEST(Checkpoints, that_a_strategy_does_not_write_are_noted) {
  const Home home;
  for (const auto& [field, value, id] :
       {std::tuple("run.checkpoint_every_steps", "10", "checkpoints_not_supported"),
        std::tuple("run.resume_from", "/tmp", "resume_not_supported")}) {
    const Ran ran = cli(short_run(kMirrored, 5, {std::string(field) + "=" + value}));
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_THAT(ran.problems(), ElementsAre(Pair(id, field)));
  }
}

}  // namespace
}  // namespace trainyard::process
