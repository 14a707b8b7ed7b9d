// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/multiplies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/experiment/resolve.h"
#include "tests/core/experiment/samples.h"

namespace trainyard::experiment {
namespace {

using ::testing::HasSubstr;

TEST(Multiplies, left_open_are_full_but_of_a_tpu) {
  Experiment e = small();
  EXPECT_EQ(e.training.multiplies, Multiplies::automatic);
  EXPECT_EQ(multiplies_of(e), Multiplies::full);
  e.training.multiplies = Multiplies::bfloat16;
  EXPECT_EQ(multiplies_of(e), Multiplies::bfloat16);
  e.training.multiplies = Multiplies::automatic;
  e.strategy.kind = StrategyKind::tpu;
  EXPECT_EQ(multiplies_of(e), Multiplies::bfloat16);
}

TEST(Multiplies, are_resolved_and_stay_those_of_one_device) {
  Experiment e = small();
  EXPECT_EQ(resolve(e, ".")->document.training.multiplies, Multiplies::full);
  e.training.multiplies = Multiplies::bfloat16;
  EXPECT_EQ(resolve(e, ".")->document.training.multiplies, Multiplies::bfloat16);
  for (auto& host : e.topology.hosts)
    for (auto& device : host.devices) device.kind = topology::DeviceKind::tpu;
  e.strategy.kind = StrategyKind::tpu;
  e.strategy.algorithm = collective::Algorithm::automatic;
  e.training.multiplies = Multiplies::automatic;
  const Resolved tpu = resolve(e, ".").value();
  EXPECT_EQ(tpu.document.training.multiplies, Multiplies::bfloat16);
  const Resolved alone = on_one_device(tpu);
  EXPECT_EQ(alone.document.training.multiplies, Multiplies::bfloat16) << "the same training";
  EXPECT_TRUE(resolved_from_json(to_json(alone)));
}

TEST(Multiplies, in_bfloat16_go_with_any_strategy_of_fp32) {
  for (const StrategyKind kind : {StrategyKind::mirrored, StrategyKind::ddp, StrategyKind::data_parallel}) {
    Experiment e = small();
    e.strategy.kind = kind;
    e.training.multiplies = Multiplies::bfloat16;
    EXPECT_EQ(base::to_string(validate(e, ".")), "");
    e.training.precision = Precision::fp64;
    const base::Problems problems = validate(e, ".");
    ASSERT_EQ(problems.size(), 1u) << base::to_string(problems);
    EXPECT_EQ(problems[0].where, "training.multiplies");
    EXPECT_THAT(problems[0].what, HasSubstr("training.precision is fp64"));
    e.training.multiplies = Multiplies::automatic;
    EXPECT_EQ(base::to_string(validate(e, ".")), "");
  }
}

}  // namespace
}  // namespace trainyard::experiment
