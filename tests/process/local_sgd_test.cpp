// SPDX-License-Identifier: GPL-3.0-or-later
// local_sgd by the programs themselves, over the transports of real runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "examples.h"
#include "run_program.h"

namespace trainyard::process {
namespace {

using base::Json;
using testing::HasSubstr;

constexpr std::int64_t kAllReduce = 2 * 3 * 4 * kElements;  // by all four ranks together
const std::string kLocal = example("four_devices_local_sgd_digits"),
                  kElastic = "strategy.local_sgd.rule=elastic";

class LocalSgd : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Run, LocalSgd, testing::Values("auto", "shm", "zmq", "inproc"));

// 44 steps in which ranks meet five times, and the mean once more, after the last.
TEST_P(LocalSgd, sends_what_the_formula_says_and_all_end_alike) {
  const Home home;
  for (const char* rule : {"average", "elastic"}) {
    const Json result = completed(
        short_run(kLocal, 44,
                  {"run.transport=" + GetParam(), "strategy.local_sgd.rule=" + std::string(rule)}));
    EXPECT_EQ(result["steps"], 44);
    EXPECT_EQ(result["wire_bytes"]["payload"], 6 * kAllReduce);
    expect_all_end_alike(result);
    EXPECT_GT(result["consensus_distance"], 0);
    EXPECT_FALSE(result.contains("lambda_2")) << "which is a matrix's";
  }
}

TEST(LocalSgd, a_run_that_is_stopped_ends_with_one_set_of_parameters_too) {
  const Home home;
  for (const char* rule : {"average", "elastic"}) {
    RunProgram run(home, endless_run(kLocal, {"run.transport=shm",
                                              "strategy.local_sgd.rule=" + std::string(rule)}));
    ASSERT_TRUE(run.wait_for_step(30));
    run.signal(SIGINT);
    const Ran ran = run.wait();
    EXPECT_EQ(ran.exit_code, 130) << ran.err;
    EXPECT_EQ(ran.result()["status"], "cancelled");
    expect_all_end_alike(ran.result());
  }
}

TEST(LocalSgd, its_plan_is_proved_and_simulated_and_an_elasticity_beyond_the_mean_is_refused) {
  const Ran checked = cli({"check", kLocal, "--set", kElastic});
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  EXPECT_THAT(checked.out, HasSubstr("proved: averaging"));
  const Ran simulated = cli({"simulate", kLocal, "--json"});
  ASSERT_EQ(simulated.exit_code, 0) << simulated.err;
  EXPECT_NEAR(simulated.result()["wire_bytes"].get<double>(), kAllReduce / 8.0, 4);
  const Ran refused =
      cli({"validate", kLocal, "--set", kElastic, "--set", "strategy.local_sgd.elasticity=0.3"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("up to 1/4"));
}

}  // namespace
}  // namespace trainyard::process
