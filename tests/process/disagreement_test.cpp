// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks that are not of the coordinator's opinion are refused, with a table of who has what.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/base/json.h"
#include "examples.h"
#include "run_program.h"

namespace trainyard::process {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// An installation whose third rank is another program.
class Installation {
 public:
  explicit Installation(const Home& home) : directory_(home / "bin") {
    fs::create_directories(directory_);
    fs::copy_file(TRAINYARD_BIN_DIR "/trainyard-cli", directory_ / "trainyard-cli");
    const std::string rank = home.scratch().write(
        "bin/trainyard-rank",
        "#!/bin/sh\n[ \"$2\" = 2 ] && exec " TRAINYARD_BIN_DIR
        "/rank_impostor \"$@\"\nexec " TRAINYARD_BIN_DIR "/trainyard-rank \"$@\"\n");
    fs::permissions(rank, fs::perms::owner_all);
  }

  Ran run(const std::string& impostor) const {
    std::string line =
        "TRAINYARD_IMPOSTOR=" + impostor + " exec " + (directory_ / "trainyard-cli").string();
    for (const std::string& argument : short_run(kMirrored, 5)) line += " '" + argument + "'";
    return shell(line);
  }

 private:
  fs::path directory_;
};

class Disagreement : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(Disagreement, of_a_rank_is_refused_with_a_table_of_all_values) {
  const auto& [of, value] = GetParam();
  const Home home;
  const Ran ran = Installation(home).run(of);
  EXPECT_EQ(ran.exit_code, 4) << ran.err;
  EXPECT_THAT(ran.problems(), testing::ElementsAre(testing::Pair("ranks_differ", of)));
  const base::Json result = ran.result();
  EXPECT_EQ(result["problem"]["code"], "refused");
  const std::string what = result["problem"]["what"];
  EXPECT_THAT(what, HasSubstr("rank 2 (host0/cpu2) " + std::string(value)));
  // Agreeing ranks are listed too, with the value of the coordinator.
  const std::size_t at = what.find("coordinator ", what.find(": ")) + 12;
  const std::string ours = what.substr(at, what.find(';') - at);
  for (const char* rank : {"rank 0 (host0/cpu0) ", "rank 1 (host0/cpu1) ", "rank 3 (host0/cpu3) "})
    EXPECT_THAT(what, HasSubstr(rank + ours));
  EXPECT_EQ(result["steps"], 0) << "nothing was trained";
  EXPECT_TRUE(fs::is_empty(home.sockets()));
}

INSTANTIATE_TEST_SUITE_P(Faults, Disagreement,
                         testing::Values(std::pair("software", "0.0.7-other"),
                                         std::pair("plan", "0123456789abcdef")),
                         [](const auto& row) { return std::string(row.param.first); });

}  // namespace
}  // namespace trainyard::process
