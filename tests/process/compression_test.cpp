// SPDX-License-Identifier: GPL-3.0-or-later
// Compressed gradients between real processes, over shared memory and sockets, and what the program
// says of them.
#include "core/experiment/compression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "examples.h"
#include "run_program.h"

namespace trainyard::process {
namespace {

using testing::HasSubstr;

std::vector<std::string> overrides_for(const std::string& kind, const std::string& transport,
                                       const std::string& algorithm) {
  return {"strategy.compression.kind=" + kind, "run.transport=" + transport,
          "strategy.algorithm=" + algorithm};
}

// Payload that all ranks together send in a step.
std::int64_t bytes_of_a_step(const std::vector<std::string>& overrides) {
  const auto resolved =
      experiment::resolve(experiment::load(kMirrored, overrides).value(), ".").value();
  std::int64_t bytes = 0;
  for (const experiment::Bucket& bucket : experiment::buckets(resolved))
    for (const auto& payload : experiment::payloads(resolved, bucket))
      bytes += (payload.collective == collective::Collective::all_gather ? 1 : 2) *
               (resolved.world() - 1) * payload.bytes();
  return bytes;
}

struct Case {
  const char *kind, *transport, *algorithm;
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.kind << ", " << c.transport << ", " << c.algorithm;
}

class CliCompression : public testing::TestWithParam<Case> {};

TEST_P(CliCompression, sends_the_bytes_of_the_formula_and_leaves_ranks_alike) {
  const Case& c = GetParam();
  const Home home;
  const auto overrides = overrides_for(c.kind, c.transport, c.algorithm);
  const Ran ran = cli(short_run(kMirrored, 12, overrides));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const base::Json result = ran.result();
  EXPECT_EQ(result.at("status"), "completed");
  EXPECT_EQ(result.at("wire_bytes").at("payload"), 12 * bytes_of_a_step(overrides));
  EXPECT_EQ(result.at("compression").at("kind"), c.kind);
  EXPECT_GT(result.at("compression").at("ratio"), 1.9);
  const auto without =
      static_cast<double>(bytes_of_a_step(overrides_for("none", c.transport, c.algorithm)));
  EXPECT_NEAR(result.at("compression").at("sent_ratio").get<double>(),
              without / static_cast<double>(bytes_of_a_step(overrides)), 1e-9);
  for (const base::Json& rank : result.at("ranks"))
    EXPECT_EQ(rank.at("parameters_xxh64"), result.at("ranks").at(0).at("parameters_xxh64"));
  const Scratch scratch;
  const std::string table = (scratch / "run.csv").string();
  ASSERT_EQ(
      cli({"export", result.at("run_directory"), "--format", "csv", "--out", table}).exit_code, 0);
  EXPECT_THAT(read(table), testing::AllOf(HasSubstr("\ncompression_ratio,0,0,11,"),
                                          HasSubstr("\nresidual_norm,3,0,11,")));
}

INSTANTIATE_TEST_SUITE_P(
    Schemes, CliCompression,
    testing::Values(Case{"fp16", "shm", "ring"}, Case{"bf16", "zmq", "halving_doubling"},
                    Case{"int8", "shm", "direct"}, Case{"sign", "zmq", "ring"},
                    Case{"top_k", "shm", "auto"}, Case{"random_k", "zmq", "direct"},
                    Case{"power_sgd", "shm", "ring"}, Case{"power_sgd", "zmq", "binary_tree"}));

TEST(CliCompressionPlan, is_proved_and_simulated_with_the_bytes_of_the_formula) {
  for (const char* kind : {"fp16", "top_k", "power_sgd"}) {
    const std::vector<std::string> set{"--set", std::string("strategy.compression.kind=") + kind};
    const auto with = [&](std::vector<std::string> arguments) {
      return arguments.insert(arguments.end(), set.begin(), set.end()), arguments;
    };
    const Ran checked = cli(with({"check", kMirrored}));
    EXPECT_EQ(checked.exit_code, 0) << checked.err;
    const base::Json result = cli(with({"simulate", kMirrored, "--json"})).result();
    EXPECT_EQ(result.at("wire_bytes"), bytes_of_a_step({set[1]})) << kind;
  }
}

TEST(CliCompressionInput, that_is_bad_is_told_at_its_field) {
  const auto refused = [](const std::vector<std::string>& overrides) {
    std::vector<std::string> arguments{"validate", kMirrored};
    for (const std::string& one : overrides) arguments.insert(arguments.end(), {"--set", one});
    const Ran ran = cli(arguments);
    EXPECT_EQ(ran.exit_code, 2) << ran.out;
    return ran.err;
  };
  EXPECT_THAT(refused({"strategy.compression.kind=zip"}),
              testing::AllOf(HasSubstr("strategy.compression.kind"), HasSubstr("power_sgd")));
  EXPECT_THAT(refused({"strategy.compression.kind=top_k", "strategy.compression.fraction=0"}),
              HasSubstr("strategy.compression.fraction"));
  EXPECT_THAT(refused({"strategy.compression.kind=top_k", "strategy.compression.fraction=1.5"}),
              HasSubstr("strategy.compression.fraction"));
  EXPECT_THAT(refused({"strategy.compression.kind=power_sgd", "strategy.compression.rank=0"}),
              HasSubstr("strategy.compression.rank"));
  EXPECT_THAT(refused({"strategy.compression.kind=fp16", "training.precision=fp64"}),
              HasSubstr("training.precision is fp64"));
  EXPECT_THAT(refused({"strategy.compression.kind=int8", "strategy.algorithm=star"}),
              HasSubstr("ring, direct or auto"));
}

TEST(CliCompressionInput, validate_says_that_it_is_not_one_device) {
  const Ran ran = cli({"validate", kMirrored, "--set", "strategy.compression.kind=sign"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("not equivalent to one device with the same global batch: "
                                 "gradients are compressed (sign)"));
}

}  // namespace
}  // namespace trainyard::process
