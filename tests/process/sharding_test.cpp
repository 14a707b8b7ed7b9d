// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks that own shards of the data, in real processes, and what the program says of it.
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

TEST(CliSharding, validate_says_who_owns_what_and_that_it_is_not_one_device) {
  const Ran skewed = cli(with({"validate", kMirrored}, kSkewed));
  EXPECT_EQ(skewed.exit_code, 0);
  EXPECT_THAT(skewed.out,
              HasSubstr("note: not equivalent to one device with the same global batch: every rank "
                        "trains on its own samples (label_skew sharding)"));
  EXPECT_THAT(skewed.out, testing::ContainsRegex("rank 3 +[0-9,]+ samples, by class [0-9,]+, "));
  EXPECT_THAT(cli({"validate", kMirrored}).out, Not(HasSubstr("note")));
}

TEST(CliSharding, validate_counts_every_sample_once) {
  for (const char* kind : {"iid", "contiguous", "label_skew", "size_skew"}) {
    const base::Json result =
        cli({"validate", kMirrored, "--set", std::string("data.sharding.kind=") + kind, "--set",
             "data.train_samples=1003", "--json"})
            .result();
    EXPECT_EQ(result.at("sharding"), kind);
    std::int64_t all = 0;
    for (const base::Json& rank : result.at("samples_by_rank_and_class")) all += sum_of(rank);
    EXPECT_EQ(all, 1003) << kind;
  }
}

TEST(CliSharding, a_rank_that_would_own_nothing_is_bad_input) {
  const Ran ran = cli({"validate", kMirrored, "--set", "data.sharding.kind=size_skew", "--set",
                       "data.sharding.size_ratio=1000000"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, testing::AllOf(HasSubstr("data.sharding.size_ratio"),
                                      HasSubstr("rank 3 would own no sample")));
}

TEST(CliSharding, check_proves_the_plan_of_unequal_shards) {
  const Ran ran = cli(with({"check", kMirrored}, kSkewed));
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("tail2"));
}

TEST(CliSharding, a_run_uses_every_sample_and_ends_with_equal_replicas) {
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
      << "as it is recorded";
}

TEST(CliSharding, a_run_says_once_that_it_is_not_one_device) {
  const Home home;
  const Ran ran =
      cli(with({"run", kMirrored, "--out", (home / "run").string(), "--steps", "2"}, kSkewed));
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("note: every rank trains on samples of its own"));
}

// Feature columns
// ------------------------------------------------------------

const std::string kVertical = example("four_devices_vertical_digits");

TEST(CliVertical, validate_says_who_has_which_columns_and_promises_one_device) {
  const Ran ran = cli({"validate", kVertical});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out,
              testing::AllOf(HasSubstr("every rank loads only its own feature columns"),
                             HasSubstr("196 of 784 feature columns, 588 to 783, of every sample")));
  EXPECT_THAT(ran.out, Not(HasSubstr("not equivalent to one device")));
}

TEST(CliVertical, a_first_layer_that_is_no_sum_over_columns_is_bad_input) {
  const Ran ran = cli({"validate", example("four_devices_mirrored_cnn_digits"), "--set",
                       "data.sharding.kind=vertical"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, testing::AllOf(HasSubstr("data.sharding.kind"),
                                      HasSubstr("model.layers[0], is conv2d")));
}

std::int64_t total_sent(const base::Json& result) {
  std::int64_t sent = 0;
  for (const base::Json& rank : result.at("ranks"))
    sent += rank.at("sent_bytes").get<std::int64_t>();
  return sent;
}

// For 4 ranks: gradients of S bytes are 2 (n - 1) S per step; rows of 256 numbers, 128 per step, (n
// - 1) of that twice; and 200 held-out rows once.
TEST(CliVertical, a_run_sends_the_bytes_of_the_formula_and_learns_what_one_device_learns) {
  const Home home;
  const std::vector<std::string> settings{"--steps", "20", "--set", "data.held_out_samples=200",
                                          "--json"};
  const std::string out = (home / "vertical").string();
  const Ran ran = cli(with({"run", kVertical, "--out", out}, settings));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const base::Json result = ran.result();
  EXPECT_EQ(total_sent(result),
            20 * (2 * 3 * 4 * 235146 + 2 * 3 * 4 * 256 * 128) + 3 * 4 * 256 * 200);
  std::set<std::string> replicas;
  for (const base::Json& rank : result.at("ranks"))
    replicas.insert(rank.at("parameters_xxh64").get<std::string>());
  EXPECT_EQ(replicas.size(), 1u);
  EXPECT_EQ(result.at("sharding"), "vertical");
  EXPECT_EQ(result.at("ranks").at(2).at("columns"), (base::Json{{"first", 392}, {"count", 196}}));
  EXPECT_FALSE(result.at("ranks").at(2).contains("samples_by_class"));
  EXPECT_THAT(cli({"replay", out}).out,
              HasSubstr("196 of 784 feature columns, 392 to 587, of every sample"));
  const Ran iid = cli(with({"run", kMirrored, "--out", (home / "iid").string()}, settings));
  ASSERT_EQ(iid.exit_code, 0) << iid.err;
  EXPECT_NEAR(result.at("train_loss").get<double>(), iid.result().at("train_loss").get<double>(),
              1e-5);
  EXPECT_EQ(result.at("held_out_accuracy"), iid.result().at("held_out_accuracy"));
}

TEST(CliVertical, check_and_simulate_know_the_rows) {
  EXPECT_EQ(cli({"check", kVertical}).exit_code, 0);
  const auto sent = [](const std::string& file) {
    return cli({"simulate", file, "--set", "training.steps=5", "--json"}).result().at("wire_bytes");
  };
  EXPECT_NE(sent(kVertical), sent(kMirrored));
}

}  // namespace
}  // namespace trainyard::process
