// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks in a mesh of data x pipeline x tensor, in real processes: what they train to, the
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

const std::string kMesh = example("eight_gpus_hybrid_gpt_grammar");

// 330 samples, 32 at a step, leave a tail of 10.
TEST(CliHybrid, trains_to_the_weights_of_mirrored_and_writes_one_checkpoint) {
  const Home home;
  const Json mirrored =
      trained(kMesh, 330, 50, {"strategy.kind=mirrored", "training.accumulation_steps=1"});
  for (const std::vector<std::string>& changes :
       {std::vector<std::string>{},
        {"run.transport=inproc", "strategy.mesh.shards_data=true", "strategy.fsdp.shard=optimizer"},
        {"strategy.mesh.shards_data=true", "strategy.fsdp.shard=full",
         "training.recompute_segments=4"}}) {
    const Json result = trained(kMesh, 330, 50, changes);
    EXPECT_LE(distance(trained_weights(result), trained_weights(mirrored)), 1e-10);
    EXPECT_NEAR(result["held_out_loss"].get<double>(), mirrored["held_out_loss"].get<double>(),
                1e-10);
    EXPECT_EQ(result["samples"], mirrored["samples"])
        << "each is taken once, whoever has a part in it";
  }
}

TEST(CliHybrid, is_proved_and_simulated) {
  const Ran checked = cli({"check", kMesh});
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  const Ran simulated = cli({"simulate", kMesh});
  EXPECT_EQ(simulated.exit_code, 0) << simulated.err;
  EXPECT_THAT(simulated.out, HasSubstr("2 x 2 x 2: 2 replicas of 2 stages"));
  EXPECT_THAT(simulated.out, HasSubstr("ranks 4 to 7 have layers"));
}

TEST(CliHybrid, refuses_a_mesh_that_the_drawing_cannot_hold) {
  const auto refused = [](const std::vector<std::string>& changes) {
    std::vector<std::string> line = {"validate", kMesh};
    for (const std::string& change : changes) line.insert(line.end(), {"--set", change});
    const Ran ran = cli(line);
    EXPECT_EQ(ran.exit_code, 2) << ran.out;
    return ran.err + ran.out;
  };
  EXPECT_THAT(refused({"strategy.mesh.tensor=3"}),
              HasSubstr("a mesh of 2 x 2 x 3 has 12 devices, and 8 devices have the role worker"));
  EXPECT_THAT(
      refused({"strategy.mesh.data=1", "strategy.mesh.pipeline=1", "strategy.mesh.tensor=8"}),
      HasSubstr("ranks 3 and 4 would share layers, and are on the hosts \"host0\" and \"host1\""));
  EXPECT_THAT(refused({"strategy.mesh.shards_data=true", "strategy.algorithm=binary_tree"}),
              HasSubstr("gather parameters"));
}

}  // namespace
}  // namespace trainyard::process
