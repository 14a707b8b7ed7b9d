// SPDX-License-Identifier: GPL-3.0-or-later
// Compressed gradients: keys of the result, and rows of the exported recording.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "examples.h"
#include "run_program.h"

namespace trainyard::process {
namespace {

using testing::HasSubstr;

TEST(CliCompression, result_and_export_have_ratio_and_residual) {
  const Home home;
  const base::Json result = completed(short_run(kMirrored, 12, {"strategy.compression.kind=fp16"}));
  EXPECT_EQ(result.at("compression").at("kind"), "fp16");
  EXPECT_EQ(result.at("compression").at("ratio"), 2);
  EXPECT_EQ(result.at("compression").at("sent_ratio"), 2);
  EXPECT_EQ(weights_of(result).size(), 1u);
  const Scratch scratch;
  const std::string table = (scratch / "run.csv").string();
  ASSERT_EQ(
      cli({"export", result.at("run_directory"), "--format", "csv", "--out", table}).exit_code, 0);
  EXPECT_THAT(read(table), testing::AllOf(HasSubstr("\ncompression_ratio,0,0,11,"),
                                          HasSubstr("\nresidual_norm,3,0,11,")));
}

}  // namespace
}  // namespace trainyard::process
