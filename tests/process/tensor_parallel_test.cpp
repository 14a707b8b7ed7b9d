// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks that have some rows or columns of each layer, in real processes: what they train to, the
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

const std::string kSplit = example("four_devices_tensor_parallel_gpt_grammar");

TEST(CliTensorParallel, of_a_tied_table_and_of_clipping_too) {
  const Home home;
  const std::vector<std::string> changes = {"model.layers[3].tied=true", "training.clip_norm=0.1"};
  std::vector<std::string> of_mirrored = changes;
  of_mirrored.insert(of_mirrored.end(), {"strategy.kind=mirrored", "training.batch_per_rank=8"});
  EXPECT_LE(distance(trained_weights(trained(kSplit, 320, 50, changes)),
                     trained_weights(trained(kSplit, 320, 50, of_mirrored))),
            1e-10);
}

TEST(CliTensorParallel, refuses_what_cannot_be_split_and_says_why) {
  const auto refused = [](const std::vector<std::string>& changes) {
    std::vector<std::string> line = {"validate", kSplit};
    for (const std::string& change : changes) line.insert(line.end(), {"--set", change});
    const Ran ran = cli(line);
    EXPECT_EQ(ran.exit_code, 2) << ran.out;
    return ran.err + ran.out;
  };
  EXPECT_THAT(
      refused({"model.layers[1].heads=2"}),
      HasSubstr(
          "model.layers[1].heads: 2 attention heads cannot be divided evenly among 4 workers"));
  EXPECT_THAT(refused({"strategy.engine=gloo"}), HasSubstr("tensor_parallel"));
  EXPECT_THAT(refused({"data.sharding.kind=contiguous"}), HasSubstr("cannot own samples"));
  EXPECT_THAT(refused({"strategy.compression.kind=fp16"}),
              HasSubstr("tensor_parallel does not compress gradients"));
}

}  // namespace
}  // namespace trainyard::process
