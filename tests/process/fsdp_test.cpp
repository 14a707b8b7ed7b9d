// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks that keep but their part of the model, in real processes: what they train to, what they
// keep and send.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "core/base/json.h"
#include "run_program.h"
#include "trained_weights.h"

namespace trainyard::process {
namespace {

using base::Json;
using testing::HasSubstr;

const std::string kSharded = example("four_devices_fsdp_gpt_grammar");

TEST(CliFsdp, trains_to_the_weights_of_mirrored_and_keeps_one_checkpoint_of_all_parts) {
  const Home home;
  const Json mirrored = trained(kSharded, 320, 50, {"strategy.kind=mirrored"});
  for (const std::string shard : {"full", "gradients", "optimizer"})
    for (const std::string transport : {"shm", "zmq", "inproc"}) {
      const Json result = trained(kSharded, 320, 50,
                                  {"strategy.fsdp.shard=" + shard, "run.transport=" + transport});
      EXPECT_LE(distance(trained_weights(result), trained_weights(mirrored)), 1e-10)
          << shard << ", " << transport;
      EXPECT_NEAR(result["held_out_loss"].get<double>(), mirrored["held_out_loss"].get<double>(),
                  1e-10);
    }
}

TEST(CliFsdp, is_proved_and_simulated) {
  const Ran checked = cli({"check", kSharded});
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  EXPECT_THAT(checked.out, HasSubstr("proved: sharding"));
  EXPECT_EQ(cli({"simulate", kSharded}).exit_code, 0);
}

// As its notes say; and with large units parameters and gradients take more than in ddp.
TEST(CliFsdp, takes_less_of_all_three_kinds_of_memory_in_the_example) {
  const auto share_of_ddp = [](const std::string& setting_of_own) {
    const auto parts = [](const std::string& setting) {
      return cli({"check", kSharded, "--json", "--set", setting})
          .result()["ranks"][0]["memory_parts"];
    };
    const Json ddp = parts("strategy.kind=ddp"), own = parts(setting_of_own);
    std::map<std::string, double> shares;
    for (const std::string part : {"parameters", "gradients", "moments"})
      shares[part] = own[part].get<double>() / ddp[part].get<double>();
    return shares;
  };
  auto example = share_of_ddp("strategy.kind=fsdp"),
       large = share_of_ddp("strategy.bucket_bytes=100000");
  EXPECT_NEAR(example["moments"], 0.25, 0.01);
  EXPECT_LT(example["parameters"], 0.55);
  EXPECT_LT(example["gradients"], 0.55);
  EXPECT_GT(large["parameters"], 1);
  EXPECT_GT(large["gradients"], 1);
}

TEST(CliFsdp, a_rank_that_dies_ends_the_run_and_is_named) {
  const Home home;
  RunProgram run(home, endless_run(kSharded, {}));
  ASSERT_TRUE(run.wait_for_step(3));
  ::kill(run.ranks()[2].pid, SIGKILL);
  const Ran ran = run.wait();
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.result()["problem"]["where"].get<std::string>(), HasSubstr("rank 2")) << ran.err;
}

}  // namespace
}  // namespace trainyard::process
