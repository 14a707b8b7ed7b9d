// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks that own shards of the data: output of validate, and records of real runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>
#include <set>

#include "core/base/json.h"
#include "examples.h"
#include "run_program.h"

namespace trainyard::process {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::vector<std::string> kSkewed{"--set", "data.sharding.kind=label_skew",
                                       "--set", "data.sharding.alpha=0.5",
                                       "--set", "data.train_samples=1000"};

std::int64_t sum_of(const base::Json& counts) {
  return std::accumulate(
      counts.begin(), counts.end(), std::int64_t{0},
      [](std::int64_t sum, const base::Json& count) { return sum + count.get<std::int64_t>(); });
}

TEST(CliSharding, validate_prints_the_shards_and_an_equivalence_caveat) {
  const Ran skewed = cli(with({"validate", kMirrored}, kSkewed));
  EXPECT_EQ(skewed.exit_code, 0);
  EXPECT_THAT(skewed.out, testing::ContainsRegex("note: [^\n]*one device[^\n]*label_skew"));
  EXPECT_THAT(skewed.out, testing::ContainsRegex("rank 3 +[0-9,]+ samples[^\n]* [0-9,]+, [0-9,]+"));
  EXPECT_THAT(cli({"validate", kMirrored}).out, Not(HasSubstr("note")));
  const base::Json result = cli(with({"validate", kMirrored, "--json"}, kSkewed)).result();
  EXPECT_EQ(result.at("sharding"), "label_skew");
  std::int64_t all = 0;
  for (const base::Json& rank : result.at("samples_by_rank_and_class")) all += sum_of(rank);
  EXPECT_EQ(all, 1000);
}

TEST(CliSharding, run_uses_every_sample_and_ends_with_equal_replicas) {
  const Home home;
  const std::string out = (home / "run").string();
  const Ran ran = cli(with({"run", kMirrored, "--json", "--out", out, "--set", "training.epochs=2",
                            "--set", "data.held_out_samples=100"},
                           kSkewed));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const base::Json result = ran.result();
  EXPECT_EQ(result.at("samples"), 2000);
  EXPECT_EQ(result.at("sharding"), "label_skew");
  std::set<std::string> replicas;
  std::int64_t owned = 0;
  for (const base::Json& rank : result.at("ranks")) {
    replicas.insert(rank.at("parameters_xxh64").get<std::string>());
    owned += sum_of(rank.at("samples_by_class"));
  }
  EXPECT_EQ(replicas.size(), 1u);
  EXPECT_EQ(owned, 1000);
  const base::Json first = result.at("ranks").at(0).at("samples_by_class");
  EXPECT_THAT(cli({"replay", out}).out, HasSubstr("rank 0 "));
  EXPECT_EQ(base::parse_json(read(std::filesystem::path(out) / "resolved.json"), "")
                .value()
                .at("shards")
                .at(0),
            first)
      << "equal to the recorded value";
}

TEST(CliSharding, run_prints_the_equivalence_caveat_once) {
  const Home home;
  const Ran ran =
      cli(with({"run", kMirrored, "--out", (home / "run").string(), "--steps", "2"}, kSkewed));
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.err, testing::ContainsRegex("note: [^\n]*one device"));
}

// Feature columns
// ------------------------------------------------------------

const std::string kVertical = example("four_devices_vertical_digits");

TEST(CliVertical, validate_prints_the_columns_and_no_equivalence_caveat) {
  const Ran ran = cli({"validate", kVertical});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, testing::ContainsRegex("196 of 784 [^\n]*588 to 783"));
  EXPECT_THAT(ran.out, Not(testing::ContainsRegex("note: [^\n]*one device")));
}

TEST(CliVertical, run_records_the_columns_of_every_rank) {
  const Home home;
  const base::Json result = completed(short_run(kVertical, 5));
  EXPECT_EQ(result.at("sharding"), "vertical");
  EXPECT_EQ(result.at("ranks").at(2).at("columns"), (base::Json{{"first", 392}, {"count", 196}}));
  EXPECT_FALSE(result.at("ranks").at(2).contains("samples_by_class"));
  EXPECT_THAT(cli({"replay", result.at("run_directory").get<std::string>()}).out,
              testing::ContainsRegex("196 of 784 [^\n]*392 to 587"));
}

}  // namespace
}  // namespace trainyard::process
