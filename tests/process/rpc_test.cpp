// SPDX-License-Identifier: GPL-3.0-or-later
// Trainers that call layers on parameter servers, in real processes: what they train to, the
// checkpoint that they write together, what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "run_program.h"
#include "trained_weights.h"

namespace trainyard::process {
namespace {

using base::Json;
using testing::HasSubstr;

const std::string kCalls = example("two_trainers_rpc_clicks");

// 1100 samples, 128 at a step, leave a tail of 76. The server trains as well where the same drawing
// is of two workers and one that idles.
TEST(CliRpc, trains_to_the_weights_of_ddp_and_writes_one_checkpoint) {
  const Home home;
  const Json ddp =
      trained(kCalls, 1100, 150, {"strategy.kind=ddp", "topology.hosts[0].devices[2].role=idle"});
  for (const std::vector<std::string>& changes :
       {std::vector<std::string>{},
        {"run.transport=zmq", "strategy.rpc.remote=all"},
        {"run.transport=inproc", "topology.hosts[0].devices[1].role=chief"}}) {
    const Json result = trained(kCalls, 1100, 150, changes);
    EXPECT_LE(distance(trained_weights(result), trained_weights(ddp)), 1e-10);
    EXPECT_NEAR(result["held_out_loss"].get<double>(), ddp["held_out_loss"].get<double>(), 1e-10);
    EXPECT_EQ(result["samples"], ddp["samples"]) << "each is taken once, whoever computes of it";
    EXPECT_EQ(result["ranks"][2]["role"], "parameter_server");
  }
}

TEST(CliRpc, is_proved_and_simulated) {
  const Ran checked = cli({"check", kCalls});
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  const Ran simulated = cli({"simulate", kCalls});
  EXPECT_EQ(simulated.exit_code, 0) << simulated.err;
  EXPECT_THAT(simulated.out, HasSubstr("rank 2 has layer 0"));
  EXPECT_THAT(simulated.out, HasSubstr("ranks 0 and 1 call what others have"));
}

TEST(CliRpc, is_noted_where_a_schedule_or_a_partition_changes_nothing) {
  const Ran ran = cli({"validate", kCalls, "--set", "strategy.stages.schedule=gpipe", "--set",
                       "strategy.stages.partition=memory"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("note: strategy.stages.schedule=gpipe changes nothing: "));
  EXPECT_THAT(ran.out, HasSubstr("note: strategy.stages.partition=memory changes nothing: "));
  EXPECT_THAT(cli({"validate", kCalls}).out, testing::Not(HasSubstr("changes nothing")));
}

TEST(CliRpc, refuses_a_drawing_without_servers) {
  const Ran ran = cli({"validate", kCalls, "--set", "topology.hosts[0].devices[2].role=worker"});
  EXPECT_EQ(ran.exit_code, 2) << ran.out;
  EXPECT_THAT(ran.err + ran.out, HasSubstr("no device has the role parameter_server"));
}

}  // namespace
}  // namespace trainyard::process
