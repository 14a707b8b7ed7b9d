// SPDX-License-Identifier: GPL-3.0-or-later
// TPUs in a torus train as one device does in the same precision, and not as one in full precision;
// all replicas alike.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/experiment/fields.h"
#include "tests/conformance/trained_in_process.h"

namespace trainyard::tests {
namespace {

using experiment::Multiplies;
using experiment::OptimizerKind;
using experiment::StrategyKind;

struct TpuCase {
  int hosts = 1, devices = 1;
  OptimizerKind optimizer = OptimizerKind::sgd;
  double clip_norm = 0;
  bool images = false;
  std::int64_t micro_steps = 1;

  int ranks() const { return hosts * devices; }
  // 24 samples a step, whatever the ranks.
  experiment::Experiment training(int devices_of_all) const {
    experiment::Experiment e = small(devices_of_all, 24);
    if (images) {
      e.model = strategy::small_images(1).model;
      e.data = strategy::small_images(1).data;
      e.training.optimizer.learning_rate = 0.01;
    }
    e.training.precision = experiment::Precision::fp32;
    e.training.optimizer.kind = optimizer;
    if (optimizer != OptimizerKind::sgd) e.training.optimizer.learning_rate = 0.003;
    e.training.clip_norm = clip_norm;
    return e;
  }
  experiment::Experiment on_one_device(Multiplies multiplies) const {
    experiment::Experiment e = training(1);
    e.strategy.kind = StrategyKind::one_device;
    e.training.multiplies = multiplies;
    return e;
  }
  experiment::Experiment on_tpus() const {
    experiment::Experiment e = training(ranks());
    e.topology = drawn_tpus(hosts, devices);
    e.strategy.kind = StrategyKind::tpu;
    e.strategy.algorithm = collective::Algorithm::automatic;
    e.training.batch_per_rank /= micro_steps;
    e.training.accumulation_steps = micro_steps;
    return e;
  }
};

void PrintTo(const TpuCase& c, std::ostream* out) {
  *out << c.hosts << " x " << c.devices << " tpus, " << base::name_of(c.optimizer)
       << (c.clip_norm > 0 ? ", clipped" : "") << (c.images ? ", images" : "") << ", micro-steps "
       << c.micro_steps;
}

class TpuEquality : public testing::TestWithParam<TpuCase> {};

// Measured: up to 2e-7, where full precision is 7e-3 and more away; of images 3e-3 and 3e-2, as
// dropout and maxima make more of a number that falls on another side of a tie.
TEST_P(TpuEquality, hundred_steps_equal_one_device_in_the_same_precision) {
  const auto one = trained(GetParam().on_one_device(Multiplies::bfloat16)),
             full = trained(GetParam().on_one_device(Multiplies::full)),
             ranks = trained(GetParam().on_tpus());
  ASSERT_EQ(one[0].problem, base::Problem{});
  ASSERT_EQ(full[0].problem, base::Problem{});
  for (const RankOutcome& rank : ranks) {
    ASSERT_EQ(rank.problem, base::Problem{});
    EXPECT_EQ(rank.parameters, ranks[0].parameters);  // bit-identical
    EXPECT_LE(distance(rank.parameters, one[0].parameters), GetParam().images ? 1e-2 : 1e-5);
    EXPECT_GT(distance(full[0].parameters, one[0].parameters), GetParam().images ? 1e-2 : 1e-3);
    EXPECT_NE(rank.parameters, full[0].parameters);
  }
}

TEST_P(TpuEquality, one_step_has_the_gradients_of_one_device) {
  expect_gradients_of(trained(one_step(GetParam().on_one_device(Multiplies::bfloat16)))[0],
                      trained(one_step(GetParam().on_tpus())));
}

INSTANTIATE_TEST_SUITE_P(Tpus, TpuEquality,
                         testing::Values(TpuCase{1, 1}, TpuCase{1, 2},
                                         TpuCase{1, 3, OptimizerKind::adam}, TpuCase{1, 4},
                                         TpuCase{1, 4, OptimizerKind::sgd, 0.5},
                                         TpuCase{1, 6, OptimizerKind::adamw}, TpuCase{1, 8},
                                         TpuCase{2, 2}, TpuCase{4, 3},
                                         TpuCase{1, 4, OptimizerKind::sgd, 0, true},
                                         TpuCase{1, 2, OptimizerKind::sgd, 0, false, 3}));

// Any strategy may round what it multiplies.
TEST(Bfloat16Training, of_mirrored_equals_tpus_with_the_same_all_reduce) {
  const TpuCase four{1, 4};
  experiment::Experiment mirrored = four.on_tpus();
  mirrored.strategy.kind = StrategyKind::mirrored;
  mirrored.strategy.algorithm = collective::Algorithm::torus;
  mirrored.training.multiplies = Multiplies::bfloat16;
  EXPECT_EQ(trained(mirrored)[0].parameters, trained(four.on_tpus())[0].parameters);
}

TEST(Bfloat16Training, evaluates_in_bfloat16) {
  const auto held_out_loss = [](Multiplies multiplies) {
    experiment::Experiment e = TpuCase{}.on_one_device(multiplies);
    e.training.steps = 1;
    e.training.optimizer.learning_rate = 0;  // the same weights
    double loss = 0;
    const auto ranks = trained(e);
    for (const telemetry::Event& event : ranks[0].events)
      if (event.kind == telemetry::EventKind::metric &&
          event.subject == static_cast<std::uint16_t>(telemetry::Metric::held_out_loss_sum))
        loss = event.value;
    return loss;
  };
  EXPECT_GT(held_out_loss(Multiplies::bfloat16), 0);
  EXPECT_NE(held_out_loss(Multiplies::bfloat16), held_out_loss(Multiplies::full));
  EXPECT_NEAR(held_out_loss(Multiplies::bfloat16) / held_out_loss(Multiplies::full), 1, 0.01);
}

}  // namespace
}  // namespace trainyard::tests
