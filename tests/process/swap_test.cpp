// SPDX-License-Identifier: GPL-3.0-or-later
// Offloading in real processes: what validate prints, and disks without room.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "examples.h"
#include "run_program.h"

namespace trainyard::process {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;

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

TEST(Swap, traffic_or_its_absence_is_noted) {
  std::vector<std::string> arguments{"validate", kMirrored, "--set",
                                     "training.swap.activations=host"};
  EXPECT_THAT(cli(arguments).out,
              testing::AllOf(HasSubstr("note: "),
                             testing::Not(testing::ContainsRegex("note: [^\n]* [kM]B "))))
      << "two layers keep no output long enough";
  for (const std::string& value : deep({})) arguments.insert(arguments.end(), {"--set", value});
  EXPECT_THAT(cli(arguments).out, testing::ContainsRegex("note: [^\n]* [kM]B [^\n]* step"));
}

TEST(Swap, to_a_full_disk_fails_before_any_computation) {
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
  EXPECT_THAT(ran.problems(), ElementsAre(Pair("no_space", StartsWith("rank "))));
  EXPECT_THAT(ran.result()["problem"]["what"].get<std::string>(), HasSubstr(disk));
}

// The error of a disk quota.
TEST(Swap, over_the_file_size_limit_fails_before_any_computation) {
  const Home home;
  RunProgram run(
      home, short_run(kMirrored, 3, deep({"training.swap.optimizer=disk", "run.transport=zmq"})),
      "ulimit -f 1000;");  // KiB
  const Ran ran = run.wait();
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.problems(), ElementsAre(Pair("file_size_limit", StartsWith("rank "))));
}

}  // namespace
}  // namespace trainyard::process
