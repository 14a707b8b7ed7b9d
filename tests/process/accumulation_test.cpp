// SPDX-License-Identifier: GPL-3.0-or-later
// Micro-steps and averaged weights in real processes, and what the program says of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/base/json.h"
#include "examples.h"
#include "run_program.h"

namespace trainyard::process {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kParameters = (784 + 1) * 256 + (256 + 1) * 128 + (128 + 1) * 10;

// Vector4Of ranks with a global batch of 128, whose last step of an epoch has 104 samples.
std::vector<std::string> two_epochs(std::vector<std::string> arguments,
                                    const std::vector<std::string>& overrides) {
  return with_set(std::move(arguments), with({"data.train_samples=1000",
                                              "data.held_out_samples=100", "training.epochs=2"},
                                             overrides));
}

base::Json accumulated(const Home& home, const std::string& name,
                       const std::vector<std::string>& overrides) {
  return completed(
      two_epochs({"run", kMirrored, "--json", "--out", (home / name).string()}, overrides));
}

TEST(CliAccumulation, a_run_in_micro_steps_sends_and_learns_what_one_in_whole_batches_does) {
  const Home home;
  const base::Json whole = accumulated(home, "whole", {});
  for (const char* kind : {"mirrored", "ddp"}) {
    const base::Json parts =
        accumulated(home, kind,
                    {std::string("strategy.kind=") + kind, "training.batch_per_rank=8",
                     "training.accumulation_steps=4"});
    EXPECT_EQ(parts.at("samples"), 2000);
    EXPECT_EQ(parts.at("steps"), whole.at("steps"));
    EXPECT_NEAR(parts.at("train_loss").get<double>(), whole.at("train_loss").get<double>(), 1e-3);
    EXPECT_EQ(weights_of(parts).size(), 1u);
    const std::int64_t broadcast = std::string(kind) == "ddp" ? 3 * 4 * kParameters : 0;
    EXPECT_EQ(parts.at("wire_bytes").at("payload"),
              whole.at("wire_bytes").at("payload").get<std::int64_t>() + broadcast);
  }
}

TEST(CliAccumulation, a_plan_and_what_was_recorded_name_the_micro_steps) {
  const Home home;
  const std::vector<std::string> parts{"training.batch_per_rank=16",
                                       "training.accumulation_steps=2"};
  accumulated(home, "run", parts);
  EXPECT_THAT(cli({"export", (home / "run").string(), "--format", "trace", "--out",
                   (home / "trace.json").string()})
                  .exit_code,
              0);
  EXPECT_THAT(read(home / "trace.json"),
              testing::AllOf(HasSubstr("LOAD.m1"), HasSubstr("W.s0.m1"), Not(HasSubstr(".m2"))));
  EXPECT_THAT(cli(two_epochs({"plan", kMirrored}, parts)).out, HasSubstr("W.s0.m1"));
  const Ran checked = cli(two_epochs({"check", kMirrored}, parts));
  EXPECT_EQ(checked.exit_code, 0) << checked.out << checked.err;
}

TEST(CliAccumulation, validate_says_of_how_many_micro_steps_a_batch_is) {
  const Ran ran = cli(two_epochs({"validate", kMirrored}, {"training.accumulation_steps=3"}));
  EXPECT_THAT(ran.out, HasSubstr("global batch 384 in 3 micro-steps"));
  EXPECT_THAT(cli(two_epochs({"validate", kMirrored}, {})).out, Not(HasSubstr("micro-steps")));
  const Ran refused = cli(two_epochs({"validate", kMirrored}, {"training.accumulation_steps=100"}));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err,
              testing::AllOf(HasSubstr("training.accumulation_steps"),
                             HasSubstr("100 micro-steps of 32 samples on each of 4 ranks")));
}

TEST(CliWeightAverage, ranks_end_with_equal_weights_and_the_run_says_how_it_differs) {
  const Home home;
  const std::vector<std::string> weights{"strategy.average=weights", "training.optimizer.kind=adam",
                                         "training.optimizer.learning_rate=0.001"};
  EXPECT_EQ(weights_of(accumulated(home, "run", weights)).size(), 1u);
  EXPECT_THAT(cli(two_epochs({"validate", kMirrored}, weights)).out,
              HasSubstr("note: weights are averaged after local updates with local moments"));
  const Ran refused =
      cli(two_epochs({"validate", kMirrored}, {"strategy.average=weights", "strategy.kind=ddp"}));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, testing::AllOf(HasSubstr("strategy.average"), HasSubstr("mirrored")));
}

}  // namespace
}  // namespace trainyard::process
