// SPDX-License-Identifier: GPL-3.0-or-later
// Mixed precision by the programs themselves: over every transport, of every kind of strategy; and
// a loss scale that ends a run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "examples.h"
#include "run_program.h"

namespace trainyard::process {
namespace {

using base::Json;
using testing::HasSubstr;

class MixedPrecision : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Run, MixedPrecision, testing::Values("shm", "zmq", "inproc"));

// Numbers of 16 bits cross where activations do.
TEST_P(MixedPrecision, halves_what_stages_send) {
  const Home home;
  const auto sent = [&](const std::string& precision) {
    const Json result =
        completed(short_run(example("two_devices_model_parallel_digits"), 8,
                            {"run.transport=" + GetParam(), "training.precision=" + precision}));
    return result["wire_bytes"]["payload"].get<std::int64_t>();
  };
  EXPECT_EQ(sent("fp32"), 2 * sent("bf16"));
}

TEST_P(MixedPrecision, leaves_replicas_alike) {
  const Home home;
  for (const std::string precision : {"bf16", "fp16"}) {
    const Json result = completed(short_run(
        kMirrored, 8, {"run.transport=" + GetParam(), "training.precision=" + precision}));
    for (const Json& rank : result["ranks"])
      EXPECT_EQ(rank["parameters_xxh64"], result["ranks"][0]["parameters_xxh64"]) << precision;
  }
}

TEST(LossScale, below_the_least_fails_the_run_and_says_what_to_do) {
  const Home home;
  const Ran run = cli(short_run(kMirrored, 20,
                                {"training.precision=fp16", "training.loss_scale.initial=1e12",
                                 "training.loss_scale.least=2e11"}));
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, testing::AllOf(HasSubstr("step 2, op SCALE: "), HasSubstr("2.5e+11"),
                                      HasSubstr("training.loss_scale.least, which is 2e+11")));
}

TEST(LossScale, that_is_found_by_steps_without_an_update_is_no_warning) {
  const Home home;
  const Ran run =
      cli(short_run(kMirrored, 30, {"training.precision=fp16", "training.loss_scale.initial=1e9"}));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json result = run.result();
  EXPECT_GT(result["loss_scale"]["steps_without_update"], 2);
  EXPECT_LT(result["loss_scale"]["last"], 1e9);
  EXPECT_FALSE(result.contains("bad_gradients"));
  EXPECT_THAT(run.err, testing::Not(HasSubstr("warning")));
}

TEST(LossScale, is_recorded) {
  const Home home;
  completed(
      short_run(kMirrored, 8, {"training.precision=fp16", "training.loss_scale.initial=256"}));
  const auto run = std::filesystem::directory_iterator(home.runs())->path();
  const auto csv = home / "run.csv";
  ASSERT_EQ(cli({"export", run.string(), "--format", "csv", "--out", csv.string()}).exit_code, 0);
  EXPECT_THAT(shell("cat " + csv.string()).out, HasSubstr("loss_scale"));
}

TEST(BadInput, of_precision_is_refused_with_what_to_do) {
  const Ran run = cli({"validate", kGossip, "--set", "training.precision=fp16"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err + run.out, HasSubstr("Take bf16, which needs no scale, or mirrored."));
}

}  // namespace
}  // namespace trainyard::process
