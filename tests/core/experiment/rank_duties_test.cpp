// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/rank_duties.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/experiment/document.h"
#include "core/experiment/fields.h"
#include "tests/core/experiment/problems.h"
#include "tests/core/strategy/experiments.h"

namespace trainyard::experiment {
namespace {

using base::IsProblem;
using ::testing::AllOf;

Experiment drawn(StrategyKind kind, topology::Topology topology) {
  Experiment e = strategy::small(2);
  e.topology = std::move(topology);
  e.strategy.kind = kind;
  return e;
}

Experiment central(int devices, int storage = 0) {
  return drawn(StrategyKind::central_storage, tests::drawn_storage(devices, storage));
}

base::Problem only_problem(const Experiment& e) {
  const base::Problems problems = validate(e, ".");
  EXPECT_EQ(problems.size(), 1u);
  return problems.empty() ? base::Problem{} : problems.front();
}

TEST(Duties, storage_is_the_only_cpu) {
  EXPECT_EQ(storage_rank(central(3, 2)), 2);
  EXPECT_EQ(count_trainers(central(3, 2)), 3);
  EXPECT_EQ(duty_of(central(3, 2), 2), "storage");
  EXPECT_EQ(duty_of(central(3, 2), 0), "worker");
  EXPECT_TRUE(validate(central(1), ".").empty());
}

TEST(Duties, idle_devices_are_not_counted) {
  Experiment e = central(3, 2);
  e.topology.hosts[0].devices[0].role = topology::Role::idle;
  EXPECT_EQ(storage_rank(e), 1);
  EXPECT_EQ(count_trainers(e), 2);
}

TEST(Duties, other_strategies_have_no_storage) {
  Experiment e = central(3);
  e.strategy.kind = StrategyKind::mirrored;
  EXPECT_EQ(storage_rank(e), kNoRank);
  EXPECT_EQ(count_trainers(e), 4);
}

TEST(Duties, central_storage_requires_a_cpu) {
  Experiment e = central(2);
  e.topology.hosts[0].devices[0].kind = topology::DeviceKind::tpu;
  EXPECT_THAT(only_problem(e),
              AllOf(IsProblem("devices_do_not_fit", "strategy.kind"), Mentions("a cpu")));
}

TEST(Duties, central_storage_refuses_two_cpus) {
  Experiment e = central(2);
  e.topology.hosts[0].devices[1].kind = topology::DeviceKind::cpu;
  EXPECT_EQ(only_problem(e).id, "devices_do_not_fit");
}

TEST(Duties, central_storage_requires_a_trainer) {
  Experiment e = central(1);
  e.topology.hosts[0].devices.pop_back();
  EXPECT_EQ(only_problem(e).id, "devices_do_not_fit");
}

TEST(Duties, central_storage_and_data_parallel_require_one_host) {
  for (const auto kind : {StrategyKind::central_storage, StrategyKind::data_parallel}) {
    const base::Problem problem = only_problem(drawn(kind, tests::drawn_hosts(2, 2)));
    EXPECT_THAT(problem,
                AllOf(IsProblem("devices_do_not_fit", "strategy.kind"), Mentions("one host")));
  }
}

TEST(Duties, data_parallel_requires_iid_sharding) {
  Experiment e = drawn(StrategyKind::data_parallel, tests::drawn_hosts(1, 2));
  e.data.sharding.kind = data::ShardingKind::label_skew;
  const base::Problem problem = only_problem(e);
  EXPECT_THAT(problem, IsProblem("sharding_not_supported", "data.sharding.kind"));
  EXPECT_EQ(problem.accepted, "iid");
}

TEST(Duties, data_parallel_limits_the_number_of_devices) {
  EXPECT_TRUE(validate(drawn(StrategyKind::data_parallel, tests::drawn_hosts(1, 16)), ".").empty());
  EXPECT_THAT(only_problem(drawn(StrategyKind::data_parallel, tests::drawn_hosts(1, 17))),
              AllOf(IsProblem("devices_do_not_fit", "strategy.kind"), Mentions("16")));
}

TEST(Duties, global_batch_counts_trainers) {
  Experiment e = central(2);
  e.training.batch_per_rank = 125;  // of 250
  EXPECT_TRUE(validate(e, ".").empty());
  e.training.batch_per_rank = 126;
  EXPECT_EQ(only_problem(e).where, "training.batch_per_rank");
}

TEST(Duties, algorithm_is_selectable_unless_the_strategy_fixes_it) {
  using Fields = base::Fields<StrategySpec>;
  for (const auto& [kind, name] : base::Names<StrategyKind>::table) {
    StrategySpec spec;
    spec.kind = kind;
    const bool fixed = kind == StrategyKind::central_storage ||
                       kind == StrategyKind::data_parallel ||
                       kind == StrategyKind::parameter_server ||
                       kind == StrategyKind::model_parallel || kind == StrategyKind::pipeline;
    EXPECT_EQ(Fields::chooses(spec), !fixed && kind != StrategyKind::one_device) << name;
    EXPECT_EQ(fixed_algorithm(kind).has_value(), fixed) << name;
  }
}

TEST(Duties, rank_0_of_data_parallel_keeps_the_parameters) {
  const Experiment e = drawn(StrategyKind::data_parallel, tests::drawn_hosts(1, 3));
  EXPECT_TRUE(keeps_parameters(e, 0));
  EXPECT_FALSE(keeps_parameters(e, 1));
  for (int rank = 0; rank < 3; ++rank) EXPECT_TRUE(keeps_parameters(central(2), rank));
}

TEST(Duties, virtual_clock_refuses_imposed_links_and_pacing) {
  Experiment e = strategy::small(3);
  e.strategy.kind = StrategyKind::parameter_server;
  e.topology.hosts[0].devices[0].role = topology::Role::parameter_server;
  e.run.clock = RunClock::virtual_time;
  EXPECT_TRUE(resolve(e, "."));
  e.run.links = LinkSpeed::imposed;
  EXPECT_EQ(resolve(e, ".").error().where, "run.links");
  e.run.links = LinkSpeed::drawn_only;
  e.run.devices = DeviceSpeed::paced;
  EXPECT_EQ(resolve(e, ".").error().where, "run.devices");
}

}  // namespace
}  // namespace trainyard::experiment
