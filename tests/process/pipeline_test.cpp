// SPDX-License-Identifier: GPL-3.0-or-later
// Pipelines by the programs themselves: stages and idle time in the output of simulate, and stages
// by measured times of layers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "core/base/json.h"
#include "run_program.h"

namespace trainyard::process {
namespace {

using base::Json;
using testing::HasSubstr;

const std::string kTwoStages = example("two_devices_model_parallel_digits");

std::vector<std::string> in_micro_batches(std::vector<std::string> arguments,
                                          const std::vector<std::string>& overrides) {
  const std::vector<std::string> own{"data.train_samples=700", "data.held_out_samples=100",
                                     "training.epochs=2", "training.batch_per_rank=16",
                                     "training.accumulation_steps=4"};
  return with_set(std::move(arguments), with(own, overrides));
}

Json trained_in_stages(const Home& home, const std::string& name,
                       const std::vector<std::string>& overrides) {
  return completed(
      in_micro_batches({"run", kTwoStages, "--json", "--out", (home / name).string()}, overrides));
}

TEST(CliPipeline, simulate_prints_stages_and_ideal_bubble) {
  const Ran simulated = cli(in_micro_batches({"simulate", kTwoStages}, {"strategy.kind=pipeline"}));
  EXPECT_THAT(simulated.out,
              testing::AllOf(
                  testing::ContainsRegex("\n  ideal idle[^\n]* 20.0 %"),
                  testing::ContainsRegex("rank 0 [^\n]*layer 0[^\n]*rank 1 [^\n]*layers 2 to 4")));
  const Json result =
      cli(in_micro_batches({"simulate", kTwoStages, "--json"}, {"strategy.kind=pipeline"}))
          .result();
  EXPECT_NEAR(result.at("ideal_bubble_fraction").get<double>(), 0.2, 1e-12);
}

Json stages_in(const std::filesystem::path& file) {
  return base::parse_json(read(file), "").value()["document"]["strategy"]["stages"];
}

// Seconds of the slowest of two ranks, of which the second begins at `cut`.
double slowest_of_two(const std::vector<double>& seconds, std::size_t cut) {
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(cut);
  return std::max(std::accumulate(seconds.begin(), middle, 0.0),
                  std::accumulate(middle, seconds.end(), 0.0));
}

TEST(CliPipeline, with_measured_layers_partitions_and_records_them) {
  const Home home;
  const std::vector<std::string> measured = {"strategy.kind=pipeline",
                                             "strategy.stages.partition=measured"};
  for (const char* verb : {"validate", "check"})
    EXPECT_THAT(cli(in_micro_batches({verb, kTwoStages}, measured)).out,
                testing::ContainsRegex("note: [^\n]*measured"));
  const Json result = trained_in_stages(home, "run", measured);
  const Json stages = stages_in(home / "run" / "resolved.json");
  std::vector<double> seconds;
  std::vector<std::string> names;
  for (const Json& time : stages["times"])
    seconds.push_back(time["seconds"]), names.push_back(time["segment"]);
  EXPECT_THAT(names, testing::ElementsAre("0", "2", "4"));
  EXPECT_THAT(seconds, testing::Each(testing::Gt(0)));
  ASSERT_EQ(stages["places"].size(), 2u);
  const auto cut = static_cast<std::size_t>(
      std::find(names.begin(), names.end(), stages["places"][1]["segment"].get<std::string>()) -
      names.begin());
  for (std::size_t other = 1; other < seconds.size(); ++other)
    EXPECT_LE(slowest_of_two(seconds, cut), slowest_of_two(seconds, other));
  // A resolved experiment can be checked and run unchanged.
  const Ran checked = cli({"check", (home / "run" / "resolved.json").string(), "--json"});
  ASSERT_EQ(checked.exit_code, 0) << checked.err;
  EXPECT_FALSE(checked.result().contains("notes"));
  for (const std::size_t rank : {0, 1})
    EXPECT_EQ(checked.result()["ranks"][rank]["memory_bytes"],
              result["ranks"][rank]["plan_memory_bytes"]);
  // Given, they are not measured again.
  const std::string times = stages["times"].dump();
  trained_in_stages(home, "again", {measured[0], measured[1], "strategy.stages.times=" + times});
  EXPECT_EQ(stages_in(home / "again" / "resolved.json"), stages);
}

}  // namespace
}  // namespace trainyard::process
