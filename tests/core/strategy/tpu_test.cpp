// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include "core/plan/text.h"
#include "core/strategy/strategy.h"
#include "tests/core/strategy/experiments.h"

namespace trainyard::strategy {
namespace {

experiment::Experiment on_tpus(int hosts, int devices) {
  experiment::Experiment e = small(1);
  e.topology = tests::drawn_tpus(hosts, devices);
  e.strategy.kind = experiment::StrategyKind::tpu;
  e.strategy.algorithm = collective::Algorithm::automatic;
  return e;
}

TEST(TpuPlan, equals_mirrored_with_torus) {
  for (const auto& [hosts, devices] : {std::pair{1, 1}, {1, 4}, {1, 5}, {2, 3}}) {
    auto e = on_tpus(hosts, devices);
    const std::string tpu_plan = plan::to_text(make_plan(resolved(e)).value());
    e.strategy.kind = experiment::StrategyKind::mirrored;
    e.strategy.algorithm = collective::Algorithm::torus;
    EXPECT_EQ(tpu_plan, plan::to_text(make_plan(resolved(e)).value())) << hosts << " x " << devices;
  }
}

TEST(TpuPlan, of_a_prime_number_of_devices_equals_a_ring) {
  auto e = on_tpus(1, 5);
  const std::string tpu_plan = plan::to_text(make_plan(resolved(e)).value());
  e.strategy.kind = experiment::StrategyKind::mirrored;
  e.strategy.algorithm = collective::Algorithm::ring;
  EXPECT_EQ(tpu_plan, plan::to_text(make_plan(resolved(e)).value()));
}

TEST(TpuPlan, is_refused_for_invalid_topologies) {
  const auto refused = [](auto change) {
    auto r = resolved(on_tpus(1, 4));
    change(r.document);
    const auto plan = make_plan(r);
    return plan ? std::string() : plan.error().where;
  };
  EXPECT_EQ(refused([](experiment::Experiment&) {}), "");
  EXPECT_EQ(refused([](experiment::Experiment& e) {
              e.topology.hosts[0].devices[0].kind = topology::DeviceKind::gpu;
            }),
            "strategy.kind");
  EXPECT_EQ(refused([](experiment::Experiment& e) {
              e.strategy.algorithm = collective::Algorithm::star;
            }),
            "strategy.algorithm");
  EXPECT_EQ(refused([](experiment::Experiment& e) {
              e.training.multiplies = experiment::Multiplies::full;
            }),
            "training.multiplies");
}

}  // namespace
}  // namespace trainyard::strategy
