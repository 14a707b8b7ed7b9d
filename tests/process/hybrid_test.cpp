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
      HasSubstr("ranks 3 and 4 would share layers, but are on the hosts \"host0\" and \"host1\""));
  EXPECT_THAT(refused({"strategy.mesh.shards_data=true", "strategy.algorithm=binary_tree"}),
              HasSubstr("reduce-scatter"));
}

}  // namespace
}  // namespace trainyard::process
