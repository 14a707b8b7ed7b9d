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

}  // namespace
}  // namespace trainyard::process
