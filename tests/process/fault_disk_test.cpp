// SPDX-License-Identifier: GPL-3.0-or-later
// Disks that are full, and directories that may not be written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/prctl.h>

#include "core/telemetry/history.h"
#include "examples.h"
#include "run_program.h"

namespace trainyard::process {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;

// Makes permissions apply to the programs that this test starts, also if it runs as root.
void obey_permissions() {
  for (const int above : {CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH})
    ::prctl(PR_CAPBSET_DROP, above, 0, 0, 0);
}

void make_read_only(const fs::path& directory) {
  fs::permissions(directory, fs::perms::owner_read | fs::perms::owner_exec);
}

std::vector<std::string> into(std::vector<std::string> arguments, const fs::path& directory) {
  arguments.insert(arguments.end(), {"--out", directory.string()});
  return arguments;
}

void expect_whole_recording(const fs::path& run_directory) {
  const auto history = telemetry::History::load(run_directory);
  ASSERT_TRUE(history) << base::to_string(history.error());
  EXPECT_EQ(history->damage(), "");
  EXPECT_GE(history->train_loss().size(), 10u);
}

// The error of a disk quota. It would apply to shared memory too, so ranks are threads here.
TEST(Disk, limit_on_the_recording_ends_the_run_and_keeps_the_recorded_part) {
  const Home home;
  RunProgram run(home, endless_run(kMirrored, {"run.transport=inproc"}),
                 "ulimit -f 2000;");  // KiB a file
  const Ran ran = run.wait();
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.problems(), ElementsAre(Pair("file_size_limit",
                                               (run.run_directory() / "recording.try").string())));
  expect_whole_recording(run.run_directory());
}

TEST(Disk, that_is_full_ends_the_run_and_keeps_the_recorded_part) {
  const Home home;
  if (shell("unshare --mount true").exit_code != 0)
    GTEST_SKIP() << "only root may mount a small disk";
  const std::string disk = home / "disk", kept = home / "kept";
  std::string run = "mkdir -p " + disk + " " + kept + " && mount -t tmpfs -o size=1500k none " +
                    disk + " && $CLI";
  for (const std::string& argument : into(endless_run(kMirrored), disk + "/run"))
    run += " '" + argument + "'";
  const Ran ran = shell("unshare --mount bash -c \"" + run + "; code=\\$?; cp -r " + disk +
                        "/run " + kept + "; exit \\$code\"");
  EXPECT_EQ(ran.exit_code, 3) << ran.err;
  EXPECT_THAT(ran.problems(), ElementsAre(Pair("no_space", StartsWith(disk + "/run/"))));
  expect_whole_recording(kept + "/run");
}

TEST(Disk, that_fills_up_during_the_checkpoint_is_reported) {
  const Home home;
  RunProgram run(home, short_run(kMirrored, 3, {"run.transport=zmq"}),
                 "ulimit -f 300;");  // the weights need 919 KiB
  const Ran ran = run.wait();
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.problems(), ElementsAre(Pair("file_size_limit", HasSubstr("/checkpoints/"))));
}

TEST(Disk, that_becomes_read_only_fails_the_run_and_names_the_directory) {
  obey_permissions();
  const Home home;
  const fs::path out = home / "run";
  RunProgram run(home, into(endless_run(kMirrored), out));
  ASSERT_TRUE(run.wait_for_step(20));
  make_read_only(out);
  run.signal(SIGINT);
  const Ran ran = run.wait();
  fs::permissions(out, fs::perms::owner_all);
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.problems(),
              ElementsAre(Pair("permission_denied", HasSubstr((out / "checkpoints").string()))));
  EXPECT_EQ(ran.result()["status"], "failed");
  expect_whole_recording(out);
}

TEST(Disk, that_takes_no_result_fails_the_run) {
  obey_permissions();
  const Home home;
  const fs::path out = home / "run";
  RunProgram run(home, into(short_run(kMirrored, 500), out));
  ASSERT_TRUE(wait_until(30, [&] { return fs::exists(out / "logs"); }));
  fs::create_directories(out / "result.json");  // nothing can take the place of a directory
  const Ran ran = run.wait();
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.problems(),
              ElementsAre(Pair("not_a_regular_file", (out / "result.json").string())));
  EXPECT_EQ(ran.result()["status"], "failed");
}

TEST(Disk, with_a_read_only_home_is_reported_before_the_start) {
  obey_permissions();
  const Home home;
  make_read_only(fs::path(home / ""));
  const Ran ran = cli(short_run(kMirrored, 3));
  fs::permissions(fs::path(home / ""), fs::perms::owner_all);
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.problems(),
              ElementsAre(Pair("permission_denied", StartsWith((home / "").string()))));
}

struct BadDirectoryCase {
  const char* name;
  std::function<fs::path(const Home&)> out;
  const char* id;
  int exit_code;  // 2: refused by what is there; 3: the system would not
};

void PrintTo(const BadDirectoryCase& place, std::ostream* out) { *out << place.name; }

class BadDirectory : public testing::TestWithParam<BadDirectoryCase> {};

TEST_P(BadDirectory, for_a_run_is_refused) {
  obey_permissions();
  const Home home;
  const fs::path out = GetParam().out(home);
  const Ran ran = cli(into(short_run(kMirrored, 3), out));
  EXPECT_EQ(ran.exit_code, GetParam().exit_code) << ran.err;
  EXPECT_THAT(ran.problems(), ElementsAre(Pair(GetParam().id, StartsWith(out.string()))));
}

fs::path file_in(const Home& home, const std::string& name) {
  fs::create_directories((home / name).parent_path());
  return home.scratch().write(name, "text");
}

fs::path read_only_in(const Home& home) {
  fs::create_directories(home / "locked");
  make_read_only(home / "locked");
  return home / "locked";
}

fs::path old_run_in(const Home& home) {
  fs::create_directories(home / "old");
  return file_in(home, "old/recording.try").parent_path();
}

INSTANTIATE_TEST_SUITE_P(
    Disk, BadDirectory,
    testing::Values(BadDirectoryCase{"a_file",
                                     [](const Home& home) { return file_in(home, "file"); },
                                     "system_error", 3},
                    BadDirectoryCase{"below_a_file",
                                     [](const Home& home) { return file_in(home, "file") / "run"; },
                                     "system_error", 3},
                    BadDirectoryCase{"read_only", read_only_in, "permission_denied", 3},
                    BadDirectoryCase{"below_a_read_only_one",
                                     [](const Home& home) { return read_only_in(home) / "run"; },
                                     "permission_denied", 3},
                    BadDirectoryCase{"holds_a_run", old_run_in, "directory_in_use", 2},
                    BadDirectoryCase{"holds_other_files",
                                     [](const Home& home) {
                                       return file_in(home, "papers/thesis.tex").parent_path();
                                     },
                                     "directory_in_use", 2}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(Disk, path_for_sockets_that_is_too_long_is_reported) {
  const Home home;
  ::setenv("XDG_RUNTIME_DIR", (home / std::string(90, 'd')).c_str(), 1);
  const Ran ran = cli(short_run(kMirrored, 2));
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(
      ran.problems(),
      ElementsAre(Pair("path_too_long", StartsWith((home / std::string(90, 'd')).string()))));
  EXPECT_FALSE(fs::exists(home / "data/trainyard/runs"))
      << "a run that never began leaves no directory";
}

TEST(Disk, full_for_standard_output_is_a_failure) {
  for (const std::string verb :
       {"list strategies", "list strategies --json", "doctor", "--help", "--version"}) {
    const Ran ran = shell("exec \"$CLI\" " + verb + " >/dev/full");
    EXPECT_EQ(ran.exit_code, 3) << verb;
    EXPECT_THAT(ran.err, StartsWith("error: standard output: ")) << verb;
  }
}

// The parts are there, but nothing says that they belong together.
TEST(Faults, last_checkpoint_that_cannot_be_committed_fails_the_run) {
  const Home home;
  const fs::path out = home / "run";
  auto arguments = short_run(kMirrored, 200, {"strategy.kind=fsdp", "run.seconds_per_step=0.005"});
  arguments.insert(arguments.end(), {"--out", out.string()});
  RunProgram run(home, arguments);
  ASSERT_TRUE(run.wait_for_step(5));
  fs::create_directories(out / "checkpoints" / "step-200" / "manifest.json");
  const Ran ran = run.wait();
  EXPECT_EQ(ran.exit_code, 3) << ran.err;
  EXPECT_EQ(ran.result()["status"], "failed");
  EXPECT_THAT(ran.problems(),
              ElementsAre(Pair("not_a_regular_file", EndsWith("/step-200/manifest.json"))));
}

}  // namespace
}  // namespace trainyard::process
