// SPDX-License-Identifier: GPL-3.0-or-later
// The verbs that take no experiment: list, doctor, completion, bench.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli_program.h"
#include "core/base/json.h"

namespace trainyard::process {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

std::vector<std::string> names(const std::string& kind) {
  return cli({"list", kind, "--json"}).result()["names"].get<std::vector<std::string>>();
}

TEST(CliList, lists_the_choices) {
  EXPECT_THAT(names("strategies"), testing::IsSupersetOf({"one_device", "mirrored"}));
  EXPECT_THAT(names("algorithms"), testing::IsSupersetOf({"ring", "direct"}));
  EXPECT_THAT(names("models"), testing::IsSupersetOf({"mlp", "cnn", "embedding", "wide_and_deep"}));
  EXPECT_THAT(names("datasets"),
              testing::IsSupersetOf({"digits", "spirals", "blobs", "clicks", "idx", "csv"}));
}

TEST(CliList, has_a_line_of_help_for_every_item) {
  for (const char* kind : {"strategies", "algorithms", "models", "datasets", "examples"}) {
    const auto lines = cli({"list", kind, "--json"}).lines();
    ASSERT_GT(lines.size(), 1u) << kind;
    for (std::size_t i = 0; i + 1 < lines.size(); ++i)
      EXPECT_NE(lines[i]["help"], "") << kind << " " << lines[i]["name"];
  }
}

TEST(CliList, lists_examples_with_valid_files) {
  const auto lines = cli({"list", "examples", "--json"}).lines();
  ASSERT_GE(lines.size(), 4u);
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    if (lines[i]["name"].get<std::string>().ends_with("mnist"))
      continue;  // its files are for the user to get
    EXPECT_EQ(cli({"validate", lines[i]["file"].get<std::string>()}).exit_code, 0) << lines[i];
  }
}

TEST(CliList, reports_missing_examples) {
  const Scratch scratch;
  const Ran ran = shell("mkdir -p " + (scratch / "experiments").string() +
                        "; TRAINYARD_RESOURCES=" + (scratch / "").string() + " $CLI list examples");
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr("TRAINYARD_RESOURCES"));
}

TEST(CliDoctor, finds_this_machine_usable) {
  const Ran ran = cli({"doctor", "--json"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  EXPECT_EQ(ran.result()["usable"], true);
  std::vector<std::string> found;
  for (const base::Json& line : ran.lines())
    if (line["type"] == "finding") found.push_back(line["name"]);
  EXPECT_THAT(found,
              testing::IsSupersetOf({"processor", "memory", "compute", "zeromq", "shared_memory",
                                     "pidfd", "runtime_directory", "runs_directory", "workbench",
                                     "cuda", "gloo", "nccl"}));
}

TEST(CliDoctor, reports_a_runtime_directory_that_cannot_be_created) {
  const Ran ran = shell("XDG_RUNTIME_DIR=/proc/nowhere \"$CLI\" doctor --json");
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_EQ(ran.result()["usable"], false);
}

// Returns bash's completions of the last word of the command line.
std::vector<std::string> completions(const std::string& words) {
  const Ran ran = shell("source <(\"$CLI\" completion bash); COMP_WORDS=(" + words +
                        "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _trainyard_cli; printf '%s\\n' "
                        "\"${COMPREPLY[@]}\"");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  std::vector<std::string> offered;
  for (std::size_t at = 0, end; (end = ran.out.find('\n', at)) != std::string::npos; at = end + 1)
    if (end > at) offered.push_back(ran.out.substr(at, end - at));
  return offered;
}

TEST(CliCompletion, completes_verbs_options_and_their_values) {
  EXPECT_THAT(completions("trainyard-cli va"), ElementsAre("validate"));
  EXPECT_THAT(completions("trainyard-cli ''"),
              testing::AllOf(Contains("bench"), testing::Not(Contains("bench-rank"))));
  EXPECT_THAT(completions("trainyard-cli plan --ex"), ElementsAre("--expand"));
  EXPECT_THAT(completions("trainyard-cli export --format ''"),
              ElementsAre("csv", "trace", "safetensors"));
  EXPECT_THAT(completions("trainyard-cli list str"), ElementsAre("strategies"));
  EXPECT_THAT(completions("trainyard-cli bench ''"), ElementsAre("allreduce"));
  EXPECT_THAT(completions("trainyard-cli bench allreduce --transport z"), ElementsAre("zmq"));
  EXPECT_THAT(completions("trainyard-cli run e.json --steps ''"), ElementsAre());
}

TEST(CliCompletion, completes_files_with_spaces_in_their_names) {
  const Scratch scratch;
  const std::string file = scratch.write("my experiment.json", "{}");
  EXPECT_THAT(completions("trainyard-cli validate " + (scratch / "my").string()),
              ElementsAre(file));
}

TEST(CliCompletion, refuses_other_shells) { EXPECT_EQ(cli({"completion", "tcsh"}).exit_code, 2); }

class CliBench : public testing::TestWithParam<std::tuple<std::string, std::string, int>> {};

TEST_P(CliBench, measures_a_verified_sum_and_counts_its_bytes) {
  const auto& [transport, algorithm, ranks] = GetParam();
  constexpr std::int64_t bytes = 40'020;
  const Ran ran =
      cli({"bench", "allreduce", "--ranks", std::to_string(ranks), "--bytes", std::to_string(bytes),
           "--transport", transport, "--algorithm", algorithm, "--repeat", "3", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const base::Json result = ran.result();
  EXPECT_EQ(result["algorithm"], algorithm);
  EXPECT_LE(result["seconds"]["min"].get<double>(), result["seconds"]["median"].get<double>());
  EXPECT_LE(result["seconds"]["median"].get<double>(), result["seconds"]["max"].get<double>());
  const double algorithm_bandwidth = result["algorithm_bandwidth_bytes_per_second"].get<double>();
  EXPECT_NEAR(result["bus_bandwidth_bytes_per_second"].get<double>(),
              algorithm_bandwidth * 2 * (ranks - 1) / ranks, 1e-6 * algorithm_bandwidth);
  std::int64_t sent = 0;
  for (const base::Json& one : result["wire_bytes_per_rank"]) sent += one.get<std::int64_t>();
  EXPECT_EQ(result["wire_bytes_per_rank"].size(), static_cast<std::size_t>(ranks));
  EXPECT_EQ(sent, (algorithm == "all_to_all" ? ranks : 2) * (ranks - 1) * bytes);
}

INSTANTIATE_TEST_SUITE_P(all, CliBench,
                         testing::Combine(testing::Values("shm", "zmq", "inproc"),
                                          testing::Values("ring", "direct", "all_to_all",
                                                          "binary_tree"),
                                          testing::Values(1, 2, 3)),
                         [](const auto& one) {
                           return std::get<0>(one.param) + "_" + std::get<1>(one.param) + "_" +
                                  std::to_string(std::get<2>(one.param));
                         });

TEST(CliBenchAuto, prints_the_chosen_algorithm_and_the_reason) {
  const Ran ran = cli({"bench", "allreduce", "--ranks", "3", "--bytes", "40000", "--algorithm",
                       "auto", "--segment-bytes", "10000", "--repeat", "3", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const std::string chosen = ran.result()["algorithm"];
  EXPECT_NE(chosen, "auto");
  EXPECT_THAT(ran.result()["chosen_because"].get<std::string>(),
              testing::StartsWith(chosen + ": "));
}

TEST(CliBenchUsage, refuses_zero_ranks_and_unknown_names) {
  EXPECT_EQ(cli({"bench"}).exit_code, 2);
  EXPECT_EQ(cli({"bench", "allreduce", "--ranks", "0", "--bytes", "4"}).exit_code, 2);
  EXPECT_EQ(cli({"bench", "allreduce", "--ranks", "2", "--bytes", "4", "--transport", "pigeon"})
                .exit_code,
            2);
  EXPECT_EQ(
      cli({"bench", "allreduce", "--ranks", "2", "--bytes", "4", "--engine", "nccl"}).exit_code, 2);
}

TEST(CliBenchUsage, lists_the_benchmarks_and_their_help) {
  const Ran unknown = cli({"bench", "dance", "--json"}), missing = cli({"bench", "--json"}),
            empty = cli({"bench", "allreduce", "--json"});
  EXPECT_THAT(unknown.problems(), ElementsAre(Pair("unknown_verb", "trainyard-cli bench")));
  EXPECT_THAT(missing.problems(), ElementsAre(Pair("missing_verb", "trainyard-cli bench")));
  for (const Ran& ran : {unknown, missing})
    EXPECT_EQ(ran.result()["problems"][0]["accepted"], "allreduce");
  EXPECT_THAT(empty.problems(),
              ElementsAre(Pair("missing_argument", "trainyard-cli bench allreduce")));
  EXPECT_THAT(empty.result()["problems"][0]["advice"].get<std::string>(),
              HasSubstr("trainyard-cli bench allreduce --help"));
}

TEST(CliBenchUsage, has_the_same_bytes_with_buckets) {
  const base::Json result = cli({"bench", "allreduce", "--ranks", "2", "--bytes", "65536",
                                 "--bucket-bytes", "4096", "--repeat", "2", "--json"})
                                .result();
  EXPECT_EQ(result["wire_bytes_per_rank"], (base::Json{65536, 65536}));
}

}  // namespace
}  // namespace trainyard::process
