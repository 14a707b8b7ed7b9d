// SPDX-License-Identifier: GPL-3.0-or-later
// Hosts on other machines. A program in place of ssh starts their agents on this machine, with
// directories of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "core/base/json.h"
#include "examples.h"
#include "run_program.h"

namespace trainyard::process {
namespace {

using base::Json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

class OtherMachines : public testing::Test {
 protected:
  OtherMachines() : old_path_(std::getenv("PATH")) {
    ssh_is(run_far(""));
    ::setenv("PATH", ((home_ / "bin").string() + ":" + old_path_).c_str(), 1);
    Json document = expanded_document(example("four_hosts_ring_digits"));
    here_ = home_.scratch().write("here.json", document.dump());
    for (int host = 1; host < 4; ++host)
      document["topology"]["hosts"][host]["address"] = "me@far" + std::to_string(host);
    there_ = home_.scratch().write("there.json", document.dump());
  }
  ~OtherMachines() override { ::setenv("PATH", old_path_.c_str(), 1); }

  // A script that runs the command of ssh, its last argument, on this machine after `before`.
  std::string run_far(const std::string& before) const {
    return "for last; do :; done\n"
           "export SSH_CONNECTION='127.0.0.1 40000 127.0.0.1 22' XDG_RUNTIME_DIR=" +
           (home_ / "far").string() + "\nmkdir -p -m 700 \"$XDG_RUNTIME_DIR\"\n" + before +
           "\necho 'Last login: today'\nexec sh -c \"$last --as-root\"";
  }

  // Makes the program in place of ssh: a script.
  void ssh_is(const std::string& script) const {
    std::filesystem::create_directories(home_ / "bin");
    const std::filesystem::path program = home_ / "bin/ssh";
    std::ofstream(program) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  }

  Home home_;
  std::string here_, there_;

 private:
  std::string old_path_;
};

TEST_F(OtherMachines, train_to_the_same_weights_with_the_same_bytes) {
  const Json near = completed(short_run(here_, 12)), far = completed(short_run(there_, 12));
  expect_all_end_alike(far);
  EXPECT_EQ(weights_of(far), weights_of(near));
  EXPECT_EQ(far["wire_bytes"], near["wire_bytes"]);
  EXPECT_EQ(far["train_loss"], near["train_loss"]);
  const std::filesystem::path directory = far["run_directory"].get<std::string>();
  EXPECT_THAT(read(directory / "logs/rank-3.log"), HasSubstr("finished without errors"))
      << "logs of all hosts are on this machine";
  EXPECT_EQ(cli({"verify", directory}).exit_code, 0);
  EXPECT_TRUE(std::filesystem::is_empty(home_ / "far/trainyard")) << "nothing is left there";
}

// The other machines have an older CPU, so all ranks use its instructions.
TEST_F(OtherMachines, ranks_use_the_instructions_that_all_machines_have) {
  ssh_is(run_far("export TRAINYARD_CPU_LEVEL=1"));
  const Json far = completed(short_run(there_, 12));
  expect_all_end_alike(far);
  EXPECT_EQ(far["cpu_level"], 1);
  EXPECT_FALSE(completed(short_run(here_, 12)).contains("cpu_level"));
  ::setenv("TRAINYARD_CPU_LEVEL", "1", 1);
  const Json near = completed(short_run(here_, 12));
  ::unsetenv("TRAINYARD_CPU_LEVEL");
  EXPECT_EQ(near["cpu_level"], 1);
  EXPECT_EQ(weights_of(far), weights_of(near));
}

TEST_F(OtherMachines, killed_rank_is_reported) {
  RunProgram run(home_, endless_run(there_));
  ASSERT_TRUE(run.wait_for_step(3));
  // [i] does not match the shell that runs the command
  const std::string killer =
      "pkill -KILL -f -- '--rank 2 --endpoint [i]pc://" + (home_ / "far").string() + "'";
  ASSERT_EQ(std::system(killer.c_str()), 0);
  const Ran ran = run.wait();
  EXPECT_EQ(ran.exit_code, 3) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("rank 2"));
}

TEST_F(OtherMachines, killed_coordinator_leaves_no_rank) {
  RunProgram run(home_, endless_run(there_));
  ASSERT_TRUE(run.wait_for_step(3));
  run.signal(SIGKILL);
  run.wait();
  const std::string any = "pgrep -f -- '[i]pc://" + (home_ / "far").string() + "' >/dev/null";
  EXPECT_TRUE(wait_until(promised, [&] { return std::system(any.c_str()) != 0; }));
}

TEST_F(OtherMachines, failed_connection_is_reported_with_the_words_of_ssh) {
  ssh_is("echo 'me@far1: Permission denied (publickey).' >&2; exit 255");
  const Ran ran = cli(short_run(there_, 2));
  EXPECT_EQ(ran.exit_code, 3) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("Permission denied (publickey)"));
  EXPECT_THAT(ran.err, HasSubstr("me@far1"));
}

TEST_F(OtherMachines, program_that_is_no_agent_is_reported) {
  ssh_is("yes | head -c 200000");
  const Ran ran = cli(short_run(there_, 2));
  EXPECT_EQ(ran.exit_code, 3) << ran.err;
  EXPECT_THAT(ran.problems(), ElementsAre(Pair("no_agent", HasSubstr("me@far1"))));
}

TEST_F(OtherMachines, unsupported_settings_are_refused_before_the_run) {
  for (const auto& [setting, where] : {std::pair("strategy.engine=gloo", "strategy.engine"),
                                       std::pair("run.links=imposed", "run.links"),
                                       std::pair("run.transport=shm", "run.transport")}) {
    const Ran ran = cli({"validate", there_, "--set", setting, "--json"});
    EXPECT_EQ(ran.exit_code, 2) << setting;
    EXPECT_THAT(ran.problems(), testing::Contains(Pair("not_on_other_machines", where)));
  }
}

}  // namespace
}  // namespace trainyard::process
