// SPDX-License-Identifier: GPL-3.0-or-later
// The verbs that take an experiment and run nothing: plan, check, simulate, validate.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli_program.h"
#include "core/base/json.h"
#include "examples.h"

namespace trainyard::process {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Pair;
using testing::StartsWith;

TEST(CliUsage, exits_with_2_for_missing_or_unknown_verbs_and_options) {
  EXPECT_EQ(cli({}).exit_code, 2);
  const Ran unknown = cli({"frobnicate", "--json"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.problems(), ElementsAre(Pair("unknown_verb", "trainyard-cli")));
  EXPECT_THAT(unknown.result()["problems"][0]["accepted"].get<std::string>(),
              AllOf(HasSubstr("simulate"), testing::Not(HasSubstr("bench-rank"))));
  EXPECT_EQ(cli({"validate", kMirrored, "--frobnicate"}).exit_code, 2);
  EXPECT_EQ(cli({"validate"}).exit_code, 2);
  EXPECT_EQ(cli({"list", "everything"}).exit_code, 2);
}

TEST(CliUsage, reports_the_range_for_an_invalid_option_value) {
  for (const std::string text : {"abc", "1.5", "", "0", "99999999999999999999"}) {
    const Ran ran = cli({"run", kMirrored, "--json", "--steps", text});
    EXPECT_EQ(ran.exit_code, 2) << text;
    EXPECT_THAT(ran.problems(), ElementsAre(Pair("bad_value", "trainyard-cli run --steps")))
        << text;
    const base::Json problem = ran.result()["problems"][0];
    EXPECT_THAT(problem["what"].get<std::string>(), HasSubstr(text));
    EXPECT_EQ(problem["accepted"], "1 to 1000000000");
  }
}

TEST(CliUsage, has_help_with_examples_for_every_verb) {
  for (const char* verb : {"run", "sweep", "plan", "check", "simulate", "validate", "replay",
                           "verify", "export", "list", "bench", "doctor", "completion"}) {
    const Ran help = cli({verb, "--help"});
    EXPECT_EQ(help.exit_code, 0) << verb;
    EXPECT_THAT(help.out, HasSubstr(std::string("trainyard-cli ") + verb)) << verb;
    EXPECT_THAT(help.out, HasSubstr("Example")) << verb;
    EXPECT_EQ(help.err, "") << verb;
  }
}

TEST(CliUsage, help_lists_every_verb_but_the_hidden_one) {
  const Ran help = cli({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, HasSubstr("simulate"));
  EXPECT_THAT(help.out, testing::Not(HasSubstr("bench-rank")));
}

TEST(CliValidate, describes_a_valid_experiment_in_one_line) {
  const Ran ran = cli({"validate", kMirrored});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(ran.out, testing::MatchesRegex("ok: [^\n]*mirrored[^\n]*235,146[^\n]*\n"));
  EXPECT_EQ(ran.err, "");
  const base::Json result = cli({"validate", kMirrored, "--json"}).result();
  EXPECT_EQ(result["ranks"], 4);
  EXPECT_EQ(result["strategy"], "mirrored");
  EXPECT_EQ(result["parameters"], 235'146);
  EXPECT_EQ(result["global_batch"], 128);
  EXPECT_EQ(result["steps"], 2500);
  const std::vector<std::string> in_micro_steps{"validate", kMirrored, "--set",
                                                "training.accumulation_steps=3"};
  EXPECT_THAT(cli(in_micro_steps).out, AllOf(HasSubstr("384"), HasSubstr("3 micro-steps")));
}

TEST(CliValidate, prints_the_automatic_algorithm_and_the_reason) {
  const Ran ran = cli({"validate", kMirrored, "--set", "strategy.algorithm=auto"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  const base::Json result =
      cli({"validate", kMirrored, "--set", "strategy.algorithm=auto", "--json"}).result();
  EXPECT_THAT(ran.out, AllOf(HasSubstr("\nnote: auto "),
                             HasSubstr(result.at("algorithm_reason").get<std::string>() + "\n")));
  EXPECT_THAT(result.at("algorithm_reason").get<std::string>(),
              testing::StartsWith(result.at("algorithm").get<std::string>() + ": "));
  EXPECT_FALSE(cli({"validate", kMirrored, "--set", "strategy.algorithm=star", "--json"})
                   .result()
                   .contains("algorithm_reason"))
      << "the user chose the algorithm";
}

TEST(CliValidate, prints_notes_on_slow_settings_and_unused_settings) {
  const std::vector<std::string> texts{"validate", kMirrored,
                                       "--set",    "run.devices=paced",
                                       "--set",    "topology.hosts[0].devices[2].slow_down=3",
                                       "--set",    "strategy.engine=gloo",
                                       "--set",    "strategy.algorithm=torus"};
  const Ran ran = cli(texts);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  const base::Json notes = cli(with(texts, {"--json"})).result().at("notes");
  EXPECT_THAT(notes.get<std::vector<std::string>>(),
              AllOf(Contains(HasSubstr("PACED")), Contains(StartsWith("rank 2, cpu2, ")),
                    Contains(StartsWith("strategy.algorithm "))));
  for (const base::Json& note : notes)
    EXPECT_THAT(ran.out, HasSubstr("\nnote: " + note.get<std::string>() + "\n"));
  EXPECT_EQ(cli({"validate", kMirrored, "--set", "strategy.engine=gloo", "--set",
                 "strategy.algorithm=auto", "--json"})
                .result()
                .at("notes")
                .size(),
            0u);
}

TEST(CliValidate, reports_all_problems_with_their_fields) {
  const Ran ran = cli({"validate", kMirrored, "--set", "data.noise=11", "--set",
                       "training.optimizer.momentum=2", "--json"});
  EXPECT_EQ(ran.exit_code, 2);
  const base::Json problems = ran.result().at("problems");
  ASSERT_EQ(problems.size(), 2u) << problems;
  EXPECT_THAT(ran.problems(),
              ElementsAre(Pair("out_of_range", "--set: data.noise"),
                          Pair("out_of_range", "--set: training.optimizer.momentum")))
      << "the file is valid";
  for (const base::Json& problem : problems)
    EXPECT_THAT(keys(problem),
                testing::ElementsAre("id", "code", "where", "what", "accepted", "advice"));
  EXPECT_THAT(ran.err, StartsWith("error: "));
}

// A field that is refused hides nothing that is wrong elsewhere.
TEST(CliValidate, reports_problems_of_fields_and_of_meaning_together_for_every_verb) {
  for (const char* verb : {"validate", "check", "plan", "simulate", "run"}) {
    const Ran ran = cli({verb, kMirrored, "--set", "training.optimizer.learning_rate=-1", "--set",
                         "data.kind=csv", "--set", "strategy.kind=one_device", "--set",
                         "training.batch_per_rank=100000", "--json"});
    EXPECT_EQ(ran.exit_code, 2) << verb;
    EXPECT_THAT(ran.problems(),
                ElementsAre(Pair("out_of_range", "--set: training.optimizer.learning_rate"),
                            Pair("too_many_workers", "--set: strategy.kind"),
                            Pair("file_not_set", EndsWith(".json: data.file"))))
        << verb;
  }
}

TEST(CliValidate, checks_data_also_if_another_field_is_refused) {
  const Scratch scratch;
  const std::string directory = (scratch / "file").parent_path().string();
  const Ran ran =
      cli({"validate", kMirrored, "--json", "--data-directory", directory, "--set",
           "training.batch_per_rank=0", "--set", "data.kind=csv", "--set", "data.file=table.csv"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.problems(), ElementsAre(Pair("out_of_range", "--set: training.batch_per_rank"),
                                          Pair("missing_file", "--set: data.file")));
  EXPECT_THAT(ran.result()["problems"][1]["what"].get<std::string>(),
              StartsWith((scratch / "table.csv").string()));
  EXPECT_THAT(cli({"validate", kMirrored, "--json", "--data-directory", "/nowhere"}).problems(),
              ElementsAre(Pair("missing_directory", "--data-directory")));
}

TEST(CliValidate, refuses_missing_broken_and_foreign_files) {
  const Scratch scratch;
  EXPECT_EQ(cli({"validate", scratch / "nowhere.json"}).exit_code, 2);
  const Ran broken = cli(
      {"validate", "--json", scratch.write("broken.json", "{\n  \"version\": 1,\n  oops\n}\n")});
  EXPECT_EQ(broken.exit_code, 2);
  EXPECT_THAT(broken.problems(), ElementsAre(Pair("bad_json", (scratch / "broken.json").string())));
  EXPECT_THAT(broken.result()["problems"][0]["what"].get<std::string>(), HasSubstr("line 3"));
  EXPECT_EQ(cli({"validate", scratch.write("list.json", "[1, 2]")}).exit_code, 2);
  EXPECT_EQ(cli({"validate", scratch.write("empty.json", "")}).exit_code, 2);
}

// The file is given by its name in the working directory.
TEST(CliFile, is_found_in_the_working_directory_by_name) {
  const Scratch scratch;
  scratch.write("my.json", read(kOne));
  for (const std::string verb :
       {"validate", "check", "plan", "simulate", "run --steps 1 --out out"}) {
    const Ran ran =
        shell("cd '" + (scratch / "").string() + "' && exec \"$CLI\" " + verb + " my.json");
    EXPECT_EQ(ran.exit_code, 0) << verb << ": " << ran.err;
  }
}

TEST(CliSet, refuses_an_unknown_path_and_a_setting_without_a_value) {
  const Ran unknown = cli({"plan", kMirrored, "--json", "--set", "training.batch_per_rnk=8"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.problems(),
              ElementsAre(Pair("unknown_key", "--set: training.batch_per_rnk")));
  EXPECT_EQ(cli({"plan", kMirrored, "--set", "training.batch_per_rank"}).exit_code, 2);
}

TEST(CliPlan, prints_the_automatic_algorithm_beside_the_plan) {
  const Ran chosen = cli({"plan", kMirrored, "--set", "strategy.algorithm=auto", "--expand"});
  EXPECT_THAT(chosen.err, StartsWith("note: auto "));
  const base::Json result =
      cli({"plan", kMirrored, "--set", "strategy.algorithm=auto", "--json"}).result();
  EXPECT_THAT(chosen.err, HasSubstr(result.at("algorithm_reason").get<std::string>()));
  const Ran named =
      cli({"plan", kMirrored, "--set",
           "strategy.algorithm=" + result.at("algorithm").get<std::string>(), "--expand"});
  EXPECT_EQ(named.out, chosen.out) << "the plans are equal";
  EXPECT_EQ(named.err, "");
}

TEST(CliPlan, prints_one_line_per_op_and_expanded_sends) {
  const Ran coarse = cli({"plan", kMirrored}), expanded = cli({"plan", kMirrored, "--expand"});
  EXPECT_EQ(coarse.exit_code, 0);
  EXPECT_TRUE(coarse.out.starts_with("plan 1\n"));
  EXPECT_THAT(coarse.out, HasSubstr("AR.b0 @comm.g0"));
  EXPECT_THAT(expanded.out, HasSubstr("SEND.b0.t0"));
  EXPECT_THAT(expanded.out, testing::Not(HasSubstr("AR.b0")));
}

TEST(CliPlan, prints_one_rank_or_a_grid_of_all_ranks) {
  const Ran one = cli({"plan", kMirrored, "--rank", "2"});
  EXPECT_TRUE(one.out.starts_with("rank 2\n")) << one.out;
  EXPECT_THAT(one.out, testing::Not(HasSubstr("rank 3")));
  const Ran grid = cli({"plan", kMirrored, "--grid"});
  EXPECT_THAT(grid.out, HasSubstr("program train"));
  EXPECT_THAT(grid.out, HasSubstr("r3 compute"));
  EXPECT_EQ(cli({"plan", kMirrored, "--rank", "4"}).exit_code, 2);
}

TEST(CliPlan, refuses_a_grid_as_json) {
  const Ran ran = cli({"plan", kMirrored, "--grid", "--json"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.problems(), ElementsAre(Pair("conflicting_options", "--grid")));
  EXPECT_EQ(ran.result()["status"], "refused");
}

TEST(CliPlan, json_has_one_line_per_rank_and_the_plan_hash_of_check) {
  const Ran plan = cli({"plan", kMirrored, "--expand", "--json"});
  const auto lines = plan.lines();
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_THAT(keys(lines[0]), testing::ElementsAre("type", "rank", "lanes", "buffers", "programs"));
  const base::Json& op = lines[0]["programs"][0]["ops"][0];
  EXPECT_EQ(op["token"], "LOAD.m0");
  EXPECT_THAT(keys(op), IsSupersetOf({"token", "lane", "reads", "writes", "after", "flops"}));
  EXPECT_EQ(plan.result()["hash"], cli({"check", kMirrored, "--json"}).result()["hash"]);
}

TEST(CliCheck, proves_the_examples_and_counts_the_bytes_of_the_ring) {
  const Ran ran = cli({"check", kMirrored, "--json"});
  EXPECT_EQ(ran.exit_code, 0);
  const base::Json result = ran.result();
  ASSERT_EQ(result["ranks"].size(), 4u);
  std::int64_t bytes = 0;
  for (const base::Json& rank : result["ranks"]) {
    EXPECT_THAT(keys(rank), testing::ElementsAre("rank", "sent_bytes", "buffer_bytes",
                                                 "shared_bytes", "peak_memory_bytes",
                                                 "memory_bytes", "memory_parts", "lacking_bytes"));
    EXPECT_EQ(rank["lacking_bytes"], 0);
    bytes += rank["sent_bytes"].get<std::int64_t>();
  }
  EXPECT_EQ(bytes, 2 * 3 * 235'146 * 4);  // 2 (n - 1) times the gradient, over all ranks
  EXPECT_EQ(cli({"check", kOne}).exit_code, 0);
  EXPECT_EQ(cli({"check", example("four_hosts_ring_digits"), "--set", "strategy.algorithm=direct"})
                .exit_code,
            0);
}

TEST(CliSimulate, prints_figures_and_a_verdict) {
  const Ran ran = cli({"simulate", kMirrored, "--json"});
  EXPECT_EQ(ran.exit_code, 0);
  const base::Json result = ran.result();
  EXPECT_THAT(keys(result), IsSupersetOf({"step_seconds", "bubble_fraction", "wire_bytes", "ranks",
                                          "fingerprint", "one_device", "verdict"}));
  EXPECT_GT(result["step_seconds"].get<double>(), 0);
  EXPECT_EQ(result["wire_bytes"], 2 * 3 * 235'146 * 4);
  EXPECT_EQ(result["ranks"].size(), 4u);
  EXPECT_GT(result["ranks"][0]["peak_memory_bytes"].get<std::int64_t>(), 0);
  EXPECT_GT(result["one_device"]["step_seconds"].get<double>(), 0);
}

TEST(CliSimulate, prints_the_staleness_of_servers_and_the_speed_of_the_run) {
  const base::Json result = cli({"simulate", kServed, "--json", "--steps", "400"}).result();
  EXPECT_NEAR(result["mean_staleness"].get<double>(), 3, 0.1) << "four workers of equal speed";
  EXPECT_GT(result["predicted"]["samples_per_second"], 0);
}

TEST(CliSimulate, is_deterministic_and_depends_on_the_drawing) {
  const auto fingerprint = [](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"simulate", kMirrored, "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return cli(arguments).result()["fingerprint"].get<std::string>();
  };
  EXPECT_EQ(fingerprint({}), fingerprint({}));
  EXPECT_NE(fingerprint({}),
            fingerprint({"--set", "topology.hosts[0].bus_bandwidth_bits_per_second=1e9"}));
}

TEST(CliSimulate, prints_what_bounds_the_step) {
  const Ran ran = cli({"simulate", kOne});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, testing::ContainsRegex("\n  why +Compute "));
}

TEST(CliSimulate, reports_if_one_device_would_be_faster) {
  const base::Json result = cli({"simulate", kMirrored, "--set",
                                 "topology.hosts[0].bus_bandwidth_bits_per_second=1e8", "--json"})
                                .result();
  EXPECT_LT(result["one_device"]["speedup"].get<double>(), 1);
  EXPECT_NE(result["verdict"].get<std::string>(), "");
  EXPECT_TRUE(cli({"simulate", kOne, "--json"}).result()["verdict"].is_null());
}

}  // namespace
}  // namespace trainyard::process
