// SPDX-License-Identifier: GPL-3.0-or-later
// Real processes that put things aside on the host and on disk, and disks that do not take them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/base/json.h"
#include "examples.h"
#include "run_program.h"

namespace trainyard::process {
namespace {

namespace fs = std::filesystem;
using base::Json;
using testing::AllOf;
using testing::HasSubstr;

// Ten layers, of 100 kB outputs each a micro-step.
std::vector<std::string> deep(std::vector<std::string> more) {
  std::string layers = R"([{"kind":"flatten"})";
  for (int i = 0; i < 9; ++i) layers += R"(,{"kind":"linear","units":200})";
  std::vector<std::string> overrides{"model.layers=" + layers + R"(,{"kind":"linear","units":0}])",
                                     "training.optimizer.kind=adam", "training.batch_per_rank=64",
                                     "topology.hosts[0].devices[2].role=idle",
                                     "topology.hosts[0].devices[3].role=idle"};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return overrides;
}

TEST(Swap, trains_the_same_weights_in_real_processes_and_leaves_no_file) {
  const Home home;
  const auto hashes = [](const Json& result) {
    std::vector<std::string> all;
    for (const Json& rank : result["ranks"]) all.push_back(rank["parameters_xxh64"]);
    return all;
  };
  const fs::path aside = home / "aside";
  fs::create_directories(aside);
  const Json kept = completed(short_run(kMirrored, 6, deep({})));
  const Json on_disk =
      completed(short_run(kMirrored, 6,
                          deep({"training.swap.activations=disk", "training.swap.optimizer=disk",
                                "training.swap.directory=" + aside.string()})));
  const Json on_host = completed(short_run(
      kMirrored, 6, deep({"training.swap.activations=host", "training.swap.optimizer=host"})));
  EXPECT_EQ(hashes(on_disk), hashes(kept));
  EXPECT_EQ(hashes(on_host), hashes(kept));
  EXPECT_TRUE(fs::is_empty(aside));
}

TEST(Swap, is_proved_and_told_apart_by_check) {
  std::vector<std::string> arguments{"check", kMirrored};
  for (const std::string& value :
       deep({"training.swap.activations=host", "training.swap.optimizer=disk"}))
    arguments.insert(arguments.end(), {"--set", value});
  const Ran ran = cli(arguments);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("proved: swapping"),
                             HasSubstr(" in the host's memory; and "), HasSubstr(" on disk")));
}

TEST(Swap, is_said_with_what_it_moves_or_that_it_moves_nothing) {
  std::vector<std::string> arguments{"validate", kMirrored, "--set",
                                     "training.swap.activations=host"};
  EXPECT_THAT(cli(arguments).out,
              HasSubstr("note: nothing is offloaded: no activation is idle long enough"))
      << "of two layers";
  for (const std::string& value : deep({})) arguments.insert(arguments.end(), {"--set", value});
  EXPECT_THAT(cli(arguments).out, HasSubstr(" per step, and fetches them again"));
}

TEST(Swap, to_a_directory_that_is_not_there_is_refused_at_its_field) {
  const Home home;
  const Ran ran = cli(short_run(
      kMirrored, 3,
      deep({"training.swap.optimizer=disk", "training.swap.directory=/no/such/directory"})));
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(
      ran.err,
      AllOf(HasSubstr("training.swap.directory: cannot create a file in /no/such/directory"),
            HasSubstr("offload to host")));
}

// Two cases for any user: a file in place of the directory, and a file system that accepts no
// files.
TEST(Swap, to_where_no_file_can_be_made_is_refused_before_a_run_is_made) {
  const Home home;
  const std::string file = home / "file";
  std::ofstream(file) << "a file";
  for (const std::string& directory : {file, std::string("/proc/self")}) {
    if (!fs::exists(directory)) continue;
    for (const std::string verb : {"validate", "run"}) {
      SCOPED_TRACE(verb + " " + directory);
      std::vector<std::string> arguments{verb, kMirrored};
      for (const std::string& value :
           deep({"training.swap.optimizer=disk", "training.swap.directory=" + directory}))
        arguments.insert(arguments.end(), {"--set", value});
      const std::string out = home / "made";
      if (verb == "run") arguments.insert(arguments.end(), {"--out", out});
      const Ran ran = cli(arguments);
      EXPECT_EQ(ran.exit_code, 2);
      EXPECT_THAT(ran.err, AllOf(HasSubstr("training.swap.directory: cannot create a file in " +
                                           directory + ": "),
                                 HasSubstr("(accepted: "),
                                 HasSubstr("choose another directory, or offload to host")));
      EXPECT_FALSE(fs::exists(out));
    }
  }
}

TEST(Swap, to_a_full_disk_fails_before_anything_is_computed_and_says_so) {
  const Home home;
  if (shell("unshare --mount true").exit_code != 0)
    GTEST_SKIP() << "only root may mount a small disk";
  const std::string disk = home / "disk";
  std::string run =
      "mkdir -p " + disk + " && mount -t tmpfs -o size=500k none " + disk + " && $CLI";
  for (const std::string& argument :
       short_run(kMirrored, 3,
                 deep({"training.swap.optimizer=disk", "training.swap.directory=" + disk}))) {
    std::string quoted = argument;
    for (std::size_t at = 0; (at = quoted.find('"', at)) != std::string::npos; at += 2)
      quoted.insert(at, "\\");
    run += " '" + quoted + "'";
  }
  const Ran ran = shell("unshare --mount bash -c \"" + run + "\"");
  EXPECT_EQ(ran.exit_code, 3) << ran.err;
  EXPECT_THAT(ran.err, AllOf(HasSubstr("rank "),
                             HasSubstr(" in a file in " + disk + ": No space left on device"),
                             HasSubstr("training.swap.directory")));
}

// As a disk quota says it.
TEST(Swap, of_more_than_a_file_may_have_fails_before_anything_is_computed) {
  const Home home;
  RunProgram run(
      home, short_run(kMirrored, 3, deep({"training.swap.optimizer=disk", "run.transport=zmq"})),
      "ulimit -f 1000;");  // KiB
  const Ran ran = run.wait();
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("in a file in "), HasSubstr("File too large")));
}

}  // namespace
}  // namespace trainyard::process
