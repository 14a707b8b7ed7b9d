// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/multiplies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "core/experiment/fields.h"
#include "core/experiment/resolve.h"
#include "tests/core/experiment/problems.h"
#include "tests/core/experiment/samples.h"

namespace trainyard::experiment {
namespace {

using base::IsProblem;
using ::testing::HasSubstr;
using ::testing::Optional;

TEST(Multiplies, default_to_full_precision_except_on_tpus) {
  Experiment e = small();
  EXPECT_EQ(e.training.multiplies, Multiplies::automatic);
  EXPECT_EQ(factor_format_of(e), Multiplies::full);
  e.training.multiplies = Multiplies::bfloat16;
  EXPECT_EQ(factor_format_of(e), Multiplies::bfloat16);
  e.training.multiplies = Multiplies::automatic;
  e.strategy.kind = StrategyKind::tpu;
  EXPECT_EQ(factor_format_of(e), Multiplies::bfloat16);
}

TEST(Multiplies, are_resolved_and_kept_for_one_device) {
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
  EXPECT_EQ(alone.document.training.multiplies, Multiplies::bfloat16)
      << "one device uses the same format";
  EXPECT_TRUE(resolved_from_json(to_json(alone)));
}

TEST(Multiplies, with_rounding_require_fp32) {
  for (const auto& [kind, rounded] :
       {std::pair{StrategyKind::mirrored, Multiplies::bfloat16},
        std::pair{StrategyKind::ddp, Multiplies::tf32},
        std::pair{StrategyKind::data_parallel, Multiplies::bfloat16}}) {
    Experiment e = small();
    e.strategy.kind = kind;
    e.training.multiplies = rounded;
    EXPECT_EQ(base::to_string(validate(e, ".")), "");
    e.training.precision = Precision::fp64;
    EXPECT_THAT(validate(e, "."),
                testing::ElementsAre(testing::AllOf(
                    IsProblem("multiplies_with_fp64", "training.multiplies"),
                    Mentions(std::string(base::name_of(rounded))), Mentions("fp64"))));
    e.training.multiplies = Multiplies::automatic;
    EXPECT_EQ(base::to_string(validate(e, ".")), "");
  }
}

TEST(Multiplies, in_tf32_have_a_note_without_gpus) {
  Experiment e = small();
  EXPECT_EQ(tf32_note(e), std::nullopt);
  e.training.multiplies = Multiplies::tf32;
  EXPECT_THAT(tf32_note(e), Optional(HasSubstr("no effect")));
  EXPECT_EQ(factor_format_of(e), Multiplies::full);
  auto& devices = e.topology.hosts.front().devices;
  ASSERT_GE(devices.size(), 2u);
  devices.front().kind = topology::DeviceKind::gpu;
  EXPECT_THAT(tf32_note(e), Optional(HasSubstr("no effect"))) << "the GPU is emulated";
  devices.front().gpu = 0;
  EXPECT_THAT(tf32_note(e), Optional(testing::AllOf(HasSubstr("CPUs"), HasSubstr("fp32"),
                                                    testing::Not(HasSubstr("no effect")))));
  EXPECT_EQ(factor_format_of(e), Multiplies::tf32);
  for (topology::Device& device : devices) device.kind = topology::DeviceKind::gpu, device.gpu = 0;
  EXPECT_EQ(tf32_note(e), std::nullopt);
}

TEST(Multiplies, on_tpus_do_not_support_tf32) {
  Experiment e = small();
  e.strategy.kind = StrategyKind::tpu;
  for (topology::Device& device : e.topology.hosts.front().devices)
    device.kind = topology::DeviceKind::tpu;
  e.training.multiplies = Multiplies::tf32;
  EXPECT_THAT(validate(e, "."), testing::Contains(testing::AllOf(
                                    IsProblem("tpu_multiplies_in_bfloat16", "training.multiplies"),
                                    Mentions("tf32"))));
}

}  // namespace
}  // namespace trainyard::experiment
