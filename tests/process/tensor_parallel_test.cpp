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

TEST(CliTensorParallel, trains_to_the_weights_of_mirrored_and_writes_one_checkpoint_of_all_parts) {
  const Home home;
  const Json mirrored =
      trained(kSplit, 320, 50, {"strategy.kind=mirrored", "training.batch_per_rank=8"});
  for (const std::string transport : {"shm", "zmq", "inproc"}) {
    const Json result = trained(kSplit, 320, 50, {"run.transport=" + transport});
    EXPECT_LE(distance(trained_weights(result), trained_weights(mirrored)), 1e-10) << transport;
    EXPECT_NEAR(result["held_out_loss"].get<double>(), mirrored["held_out_loss"].get<double>(),
                1e-10);
    EXPECT_EQ(result["samples"], mirrored["samples"])
        << "each is taken once, whoever has a part in it";
  }
}

TEST(CliTensorParallel, of_a_tied_table_and_of_clipping_too) {
  const Home home;
  const std::vector<std::string> changes = {"model.layers[3].tied=true", "training.clip_norm=0.1"};
  std::vector<std::string> of_mirrored = changes;
  of_mirrored.insert(of_mirrored.end(), {"strategy.kind=mirrored", "training.batch_per_rank=8"});
  EXPECT_LE(distance(trained_weights(trained(kSplit, 320, 50, changes)),
                     trained_weights(trained(kSplit, 320, 50, of_mirrored))),
            1e-10);
}

TEST(CliTensorParallel, is_proved_and_simulated) {
  const Ran checked = cli({"check", kSplit});
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  const Ran simulated = cli({"simulate", kSplit});
  EXPECT_EQ(simulated.exit_code, 0) << simulated.err;
  EXPECT_THAT(simulated.out, HasSubstr("by outputs"));
}

TEST(CliTensorParallel, a_rank_that_dies_ends_the_run_and_is_named) {
  const Home home;
  RunProgram run(home, endless_run(kSplit, {}));
  ASSERT_TRUE(run.wait_for_step(3));
  ::kill(run.ranks()[2].pid, SIGKILL);
  const Ran ran = run.wait();
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.result()["problem"]["where"].get<std::string>(), HasSubstr("rank 2")) << ran.err;
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
          "model.layers[1].heads: 2 heads of attention are not shared out evenly by 4 workers"));
  EXPECT_THAT(refused({"strategy.engine=gloo"}), HasSubstr("tensor_parallel"));
  EXPECT_THAT(refused({"data.sharding.kind=contiguous"}), HasSubstr("nobody owns any"));
  EXPECT_THAT(refused({"strategy.compression.kind=fp16"}),
              HasSubstr("tensor_parallel does not compress gradients"));
}

}  // namespace
}  // namespace trainyard::process
