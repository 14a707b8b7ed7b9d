// SPDX-License-Identifier: GPL-3.0-or-later
// Local SGD by the programs themselves: an interrupted run.
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "examples.h"
#include "run_program.h"

namespace trainyard::process {
namespace {

const std::string kLocal = example("four_devices_local_sgd_digits");

TEST(LocalSgd, stopped_run_ends_with_equal_parameters) {
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
    EXPECT_FALSE(ran.result().contains("lambda_2")) << "it has no mixing matrix";
  }
}

}  // namespace
}  // namespace trainyard::process
