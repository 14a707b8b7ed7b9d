// SPDX-License-Identifier: GPL-3.0-or-later
// Loss scale of real runs: in the result, and in the exported recording.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "examples.h"
#include "run_program.h"

namespace trainyard::process {
namespace {

using base::Json;
using testing::HasSubstr;

TEST(LossScale, search_by_skipped_updates_is_no_warning) {
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

}  // namespace
}  // namespace trainyard::process
