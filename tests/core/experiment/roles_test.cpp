// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/roles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/experiment/rank_duties.h"
#include "core/experiment/servers.h"
#include "tests/core/experiment/problems.h"
#include "tests/core/experiment/samples.h"

namespace trainyard::experiment {
namespace {

using base::IsProblem;
using testing::AllOf;
using topology::Role;

topology::Device& device(Experiment& e, std::size_t number) {
  return e.topology.hosts[0].devices[number];
}

// An evaluator, a server and three workers, drawn in this order.
Experiment evaluated() {
  Experiment e = small(1, 5);
  e.strategy.kind = StrategyKind::parameter_server;
  device(e, 0).role = Role::evaluator;
  device(e, 1).role = Role::parameter_server;
  return e;
}

TEST(Roles, evaluator_is_the_last_rank) {
  const Resolved resolved = resolve(evaluated(), ".").value();
  EXPECT_EQ(resolved.world(), 5);
  EXPECT_EQ(resolved.workers(), 3);
  EXPECT_EQ(resolved.servers, 1);
  EXPECT_TRUE(resolved.serves(3));
  EXPECT_FALSE(resolved.serves(4));
  EXPECT_TRUE(resolved.is_evaluator(4));
  const topology::Network network(resolved.document.topology);
  EXPECT_EQ(network.device(resolved.ranks[4]).name,
            resolved.document.topology.hosts[0].devices[0].name);
  EXPECT_EQ(duty_of(resolved.document, 4), "evaluator");
  EXPECT_FALSE(keeps_parameters(resolved.document, 4));
  EXPECT_TRUE(is_loss_allowed(resolved, 4));
  EXPECT_EQ(resolve(resolved.document, ".")->document, resolved.document)
      << "resolving is idempotent";
}

TEST(Roles, evaluator_measures_all_held_out_samples) {
  const Resolved resolved = resolve(evaluated(), ".").value();
  EXPECT_EQ(resolved.held_out(4), std::pair(std::int64_t{0}, resolved.data.held_out_samples));
  for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(resolved.held_out(rank).second, 0);
}

TEST(Roles, evaluator_requires_a_checkpoint_for_each_evaluation) {
  Experiment e = evaluated();
  e.run.evaluate_every_steps = 30;
  EXPECT_EQ(resolve(e, ".")->document.run.checkpoint_every_steps, 30);
  e.run.checkpoint_every_steps = 70;
  EXPECT_EQ(resolve(e, ".")->document.run.checkpoint_every_steps, 70);
  device(e, 0).role = Role::idle;
  e.run.checkpoint_every_steps = 0;
  EXPECT_EQ(resolve(e, ".")->document.run.checkpoint_every_steps, 0);
}

TEST(Roles, evaluator_without_checkpoints_or_samples_is_refused) {
  Experiment e = evaluated();
  e.run.clock = RunClock::virtual_time;
  EXPECT_EQ(refused(e).where, "topology.hosts[0].devices[0].role");
  EXPECT_EQ(refused(e).id, "evaluator_without_checkpoints");
  e = evaluated();
  device(e, 1).role = Role::worker;
  e.strategy.kind = StrategyKind::mirrored;
  EXPECT_THAT(refused(e), AllOf(IsProblem("role_not_used", "topology.hosts[0].devices[0].role"),
                                Mentions("mirrored")));
  e = evaluated();
  e.data.held_out_samples = 0;
  if (resolve(e, ".")) {
    EXPECT_GT(resolve(e, ".")->data.held_out_samples, 0) << "0 means all held-out samples";
  }
}

TEST(Roles, allow_one_evaluator_and_one_chief) {
  Experiment e = evaluated();
  device(e, 2).role = Role::evaluator;
  EXPECT_EQ(refused(e).where, "topology.hosts[0].devices[2].role");
  EXPECT_EQ(refused(e).accepted, "one evaluator");
  e = evaluated();
  device(e, 3).role = device(e, 4).role = Role::chief;
  EXPECT_EQ(refused(e).where, "topology.hosts[0].devices[4].role");
  EXPECT_EQ(refused(e).accepted, "one chief");
}

TEST(Roles, chief_is_a_worker_by_default_the_first) {
  Experiment e = evaluated();
  EXPECT_EQ(resolve(e, ".")->chief, 0);
  device(e, 4).role = Role::chief;
  const Resolved resolved = resolve(e, ".").value();
  EXPECT_EQ(resolved.workers(), 3);
  EXPECT_EQ(resolved.chief, 2);
  EXPECT_EQ(duty_of(resolved.document, 2), "chief");
  EXPECT_EQ(on_one_device(resolved).chief, 0);
  Experiment mirrored = small(1, 3);
  device(mirrored, 1).role = Role::chief;
  EXPECT_EQ(resolve(mirrored, ".")->chief, 1);
  EXPECT_EQ(resolve(mirrored, ".")->world(), 3);
}

TEST(Roles, chief_must_keep_the_parameters) {
  Experiment e = small(1, 3);
  e.strategy.kind = StrategyKind::data_parallel;
  device(e, 0).role = Role::chief;
  EXPECT_TRUE(resolve(e, "."));
  std::swap(device(e, 0).role, device(e, 2).role);
  EXPECT_EQ(refused(e).accepted, "rank 0");
  e = small(1, 3);
  e.strategy.kind = StrategyKind::central_storage;
  for (const std::size_t gpu : {1U, 2U}) device(e, gpu).kind = topology::DeviceKind::gpu;
  EXPECT_EQ(resolve(e, ".")->chief, 1) << "rank 0 is the storage";
  device(e, 0).role = Role::chief;
  EXPECT_EQ(refused(e).id, "wrong_chief");
}

}  // namespace
}  // namespace trainyard::experiment
