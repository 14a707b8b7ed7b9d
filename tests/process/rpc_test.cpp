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

TEST(CliRpc, is_noted_where_a_schedule_or_a_partition_changes_nothing) {
  const Ran ran = cli({"validate", kCalls, "--set", "strategy.stages.schedule=gpipe", "--set",
                       "strategy.stages.partition=memory"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("note: strategy.stages.schedule=gpipe has no effect: "));
  EXPECT_THAT(ran.out, HasSubstr("note: strategy.stages.partition=memory has no effect: "));
  EXPECT_THAT(cli({"validate", kCalls}).out, testing::Not(HasSubstr("has no effect")));
}

TEST(CliRpc, refuses_a_drawing_without_servers) {
  const Ran ran = cli({"validate", kCalls, "--set", "topology.hosts[0].devices[2].role=worker"});
  EXPECT_EQ(ran.exit_code, 2) << ran.out;
  EXPECT_THAT(ran.err + ran.out, HasSubstr("no device has the role parameter_server"));
}

}  // namespace
}  // namespace trainyard::process
