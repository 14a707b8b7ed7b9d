// SPDX-License-Identifier: GPL-3.0-or-later
// Use of device memory, and advice if it does not suffice.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "core/base/json.h"
#include "examples.h"
#include "run_program.h"

namespace trainyard::process {
namespace {

using base::Json;
using testing::ElementsAre;
using testing::HasSubstr;

// 875,000 parameters, most of them in three layers alike.
constexpr const char* kDeep =
    R"(model.layers=[{"kind":"flatten"},{"kind":"linear","units":64},)"
    R"({"kind":"linear","units":512},{"kind":"linear","units":512},{"kind":"linear","units":512},)"
    R"({"kind":"linear","units":512},{"kind":"linear","units":0}])";

std::vector<std::string> with_memory(const std::string& verb, std::int64_t bytes,
                                     const std::vector<std::string>& overrides = {}) {
  std::vector<std::string> arguments{verb,  kMirrored, "--set",
                                     kDeep, "--set",   "training.optimizer.kind=adam"};
  for (int device = 0; device < 4; ++device)
    arguments.insert(arguments.end(),
                     {"--set", "topology.hosts[0].devices[" + std::to_string(device) +
                                   "].memory_bytes=" + std::to_string(bytes)});
  for (const std::string& value : overrides) arguments.insert(arguments.end(), {"--set", value});
  return arguments;
}

// Parses the settings of each advised option: "a=1 with b=2, c=3 and d=4 (...); ...".
std::vector<std::vector<std::string>> ways_in(const std::string& advice) {
  std::vector<std::vector<std::string>> ways;
  const std::regex way(R"((?:cost: |\); )([a-z_.]+=[^(]+) \()"), setting(R"([a-z_.]+=[a-z0-9_]+)");
  for (std::sregex_iterator at(advice.begin(), advice.end(), way), end; at != end; ++at) {
    const std::string settings = (*at)[1];
    std::vector<std::string>& list = ways.emplace_back();
    for (std::sregex_iterator one(settings.begin(), settings.end(), setting); one != end; ++one)
      list.push_back(one->str());
  }
  return ways;
}

std::string advice_of(const Ran& refused) { return refused.result()["problems"][0]["advice"]; }

// Matches a problem of a device that has too little memory.
auto lacks_memory(int device) {
  return testing::Pair("out_of_memory",
                       "topology.hosts[0].devices[" + std::to_string(device) + "].memory_bytes");
}

// Returns the word in `text` after `before`.
std::string word_after(const std::string& text, const std::string& before) {
  const std::size_t at = text.find(before);
  EXPECT_NE(at, std::string::npos) << before << " is not in " << text;
  if (at == std::string::npos) return "";
  const std::size_t begin = at + before.size();
  return text.substr(begin, text.find_first_of(" ;.", begin) - begin);
}

TEST(CliMemory, is_printed_by_purpose) {
  const Ran ran = cli({"check", kMirrored, "--json", "--set", "training.optimizer.kind=adam"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const Json rank = ran.result()["ranks"][0];
  const Json& parts = rank["memory_parts"];
  EXPECT_EQ(parts["parameters"], 235'146 * 4);
  EXPECT_EQ(parts["moments"], 2 * 235'146 * 4);
  std::int64_t sum = 0;
  for (const Json& part : parts) sum += part.get<std::int64_t>();
  EXPECT_EQ(rank["memory_bytes"], sum);
  EXPECT_THAT(cli({"check", kMirrored}).out,
              testing::AllOf(HasSubstr("parameters 941 kB"), HasSubstr("gradients 941 kB")));
}

// Memory that every rank measured, by part, is within 5 % of the memory of the plan as printed by
// check.
class MemoryOfRun : public testing::TestWithParam<const char*> {};

TEST_P(MemoryOfRun, equals_the_plan) {
  const Home home;
  // A worker of servers measures its memory at its first step. Workers do not wait for each other,
  // so a short run may end before a slow worker's first step.
  const int steps =
      std::string(GetParam()).find("parameter_server") != std::string::npos ? 300 : 20;
  const Json planned = cli({"check", example(GetParam()), "--json"}).result()["ranks"],
             measured = completed(short_run(example(GetParam()), steps))["ranks"];
  ASSERT_EQ(planned.size(), measured.size());
  for (std::size_t r = 0; r < planned.size(); ++r) {
    SCOPED_TRACE("rank " + std::to_string(r));
    EXPECT_EQ(measured[r]["plan_memory_bytes"], planned[r]["memory_bytes"]);
    const double plan = planned[r]["memory_bytes"].get<double>();
    EXPECT_NEAR(measured[r]["memory_bytes"].get<double>(), plan, 0.05 * plan);
    for (const auto& [part, bytes] : planned[r]["memory_parts"].items())
      EXPECT_NEAR(measured[r]["memory_parts"].value(part, 0.0), bytes.get<double>(),
                  0.05 * bytes.get<double>() + 4096)
          << part;
    EXPECT_GT(measured[r]["peak_memory_bytes"].get<double>(), plan) << "of the whole process";
  }
}

INSTANTIATE_TEST_SUITE_P(
    , MemoryOfRun,
    testing::Values("four_devices_mirrored_digits", "four_workers_parameter_server_digits",
                    "two_devices_model_parallel_digits", "four_devices_pipeline_gpt_grammar",
                    "four_devices_zero_bubble_gpt_grammar", "four_devices_pipedream_digits",
                    "four_devices_tensor_parallel_gpt_grammar", "four_devices_fsdp_gpt_grammar",
                    "four_devices_sharded_hybrid_bf16_gpt_grammar", "two_trainers_rpc_clicks"),
    [](const auto& one) { return std::string(one.param); });

// The plan is as right as before: what lacks is said beside that, for every rank of which it is so,
// as validate says it.
TEST(CliMemory, that_is_insufficient_is_a_warning_of_check) {
  const std::string small = "topology.hosts[0].devices[1].memory_bytes=2000000";
  const Ran checked = cli({"check", kMirrored, "--json", "--set", small});
  EXPECT_EQ(checked.exit_code, 0);
  const Json result = checked.result();
  EXPECT_EQ(result["status"], "completed");
  for (const Json& rank : result["ranks"]) {
    const std::int64_t needs = rank["memory_bytes"].get<std::int64_t>();
    EXPECT_EQ(rank["lacking_bytes"], rank["rank"] == 1 ? needs - 2'000'000 : 0);
  }
  EXPECT_EQ(result["problems"],
            cli({"validate", kMirrored, "--json", "--set", small}).result()["problems"]);
  EXPECT_THAT(checked.problems(), ElementsAre(lacks_memory(1)));
  EXPECT_THAT(checked.err,
              testing::StartsWith("warning: topology.hosts[0].devices[1].memory_bytes: "));
  const Ran note = cli({"check", kMirrored, "--set", small});
  EXPECT_THAT(note.out,
              testing::ContainsRegex("rank 1 [^\n]*\n[^\n]*\n    [^\n]* fit: [^ ]+ [kM]B"));
  EXPECT_EQ(cli({"check", kMirrored}).err, "");
}

// The memory of a rank is one number that must fit, as printed by validate.
TEST(CliMemory, of_a_rank_is_one_number) {
  const Ran checked = cli({"check", kMirrored});
  const std::string takes = word_after(checked.out, "rank 0 takes ");
  const Ran refused =
      cli({"validate", kMirrored, "--set", "topology.hosts[0].devices[0].memory_bytes=2000000"});
  EXPECT_THAT(refused.err, HasSubstr(" " + takes));
}

TEST(CliMemory, is_the_same_to_the_byte_in_check_validate_and_simulate) {
  const Json ranks = cli({"check", kMirrored, "--json"}).result()["ranks"];
  const std::int64_t needs = ranks[0]["memory_bytes"].get<std::int64_t>();
  for (const std::int64_t bytes : {needs - 1, needs}) {
    const std::string set = fmt::format("topology.hosts[0].devices[0].memory_bytes={}", bytes);
    SCOPED_TRACE(testing::Message() << bytes << " of " << needs << " bytes");
    for (const char* verb : {"check", "validate"}) {
      const Ran ran = cli({verb, kMirrored, "--json", "--set", set});
      if (bytes < needs) EXPECT_THAT(ran.problems(), ElementsAre(lacks_memory(0))) << verb;
      else EXPECT_THAT(ran.problems(), testing::IsEmpty()) << verb;
    }
    const std::string simulated = cli({"simulate", kMirrored, "--set", set}).out;
    if (bytes < needs) EXPECT_THAT(simulated, HasSubstr("the plan does not fit in memory: rank 0"));
    else EXPECT_THAT(simulated, testing::Not(HasSubstr("does not fit")));
  }
}

// Applies each advised option.
TEST(CliMemory, that_is_insufficient_is_refused_with_options_that_fit) {
  const std::int64_t tight = 10'000'000;
  const Ran refused = cli(with(with_memory("run", tight), {"--json"}));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.problems(),
              ElementsAre(lacks_memory(0), lacks_memory(1), lacks_memory(2), lacks_memory(3)));
  EXPECT_THAT(refused.result()["problems"][0]["what"].get<std::string>(),
              testing::AllOf(HasSubstr("10 MB"), HasSubstr("moments 7.01 MB")));
  const std::string advice = advice_of(refused);
  EXPECT_THAT(advice, testing::ContainsRegex("[0-9.]+ [^ ]*s and [0-9.]+ MB "));
  const auto ways = ways_in(advice);
  EXPECT_GE(ways.size(), 3u) << advice;
  for (const std::vector<std::string>& settings : ways) {
    SCOPED_TRACE(testing::PrintToString(settings));
    EXPECT_EQ(cli(with_memory("validate", tight, settings)).exit_code, 0);
  }
  EXPECT_THAT(ways, testing::Contains(testing::Contains("strategy.kind=fsdp")));
  EXPECT_THAT(ways, testing::Contains(testing::Contains("strategy.kind=hybrid")));
}

TEST(CliMemory, of_large_batches_fits_with_smaller_micro_steps) {
  const std::int64_t tight = 24'000'000;
  const std::vector<std::string> large{"training.batch_per_rank=1024"};
  const Ran refused = cli(with(with_memory("validate", tight, large), {"--json"}));
  EXPECT_EQ(refused.exit_code, 2);
  const std::string advice = advice_of(refused),
                    batch = word_after(advice, "training.batch_per_rank="),
                    steps = word_after(advice, "training.accumulation_steps=");
  EXPECT_EQ(std::stoi(batch) * std::stoi(steps), 1024);
  EXPECT_EQ(
      cli(with_memory("validate", tight,
                      {"training.batch_per_rank=" + batch, "training.accumulation_steps=" + steps}))
          .exit_code,
      0);
}

TEST(CliMemory, of_zero_bytes_is_refused_with_the_accepted_range) {
  for (const std::string verb : {"validate", "run"}) {
    const Ran refused =
        cli({verb, kMirrored, "--json", "--set", "topology.hosts[0].devices[2].memory_bytes=0"});
    EXPECT_EQ(refused.exit_code, 2) << verb;
    EXPECT_THAT(refused.problems(),
                ElementsAre(testing::Pair("out_of_range",
                                          "--set: topology.hosts[0].devices[2].memory_bytes")));
    EXPECT_THAT(refused.result()["problems"][0]["accepted"].get<std::string>(),
                HasSubstr("1 MB to 1 PB"));
  }
}

TEST(CliMemory, that_no_option_fits_is_refused) {
  const Ran refused = cli(with(with_memory("validate", 1'000'000), {"--json"}));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.problems(),
              ElementsAre(lacks_memory(0), lacks_memory(1), lacks_memory(2), lacks_memory(3)));
  EXPECT_THAT(ways_in(advice_of(refused)), testing::IsEmpty());
}

}  // namespace
}  // namespace trainyard::process
