// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "core/base/fields.h"
#include "core/experiment/fields.h"
#include "core/experiment/validation_result.h"
#include "tests/core/experiment/problems.h"
#include "tests/core/experiment/samples.h"

namespace trainyard::experiment {
namespace {

using base::IsProblem;

std::vector<std::string> places(const base::Problems& problems) {
  std::vector<std::string> all;
  for (const base::Problem& problem : problems) all.push_back(problem.where);
  return all;
}

std::vector<base::FieldDescription> strategy_fields(const Experiment& e) {
  for (const base::FieldDescription& part : base::describe(e))
    if (part.name == "strategy") return part.fields;
  return {};
}

Experiment with_gloo(int hosts, int devices) {
  Experiment e = small(hosts, devices);
  e.strategy.engine = Engine::gloo;
  return e;
}

TEST(Engine, not_in_the_build_is_reported_with_its_package_and_option) {
  constexpr std::array only_own{Engine::own};
  EXPECT_TRUE(absent_engine(Engine::own, only_own).empty());
  const auto problems = absent_engine(Engine::gloo, only_own);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].code, base::ProblemCode::unavailable);
  EXPECT_EQ(problems[0].accepted, "own");
  EXPECT_THAT(problems[0], testing::AllOf(IsProblem("engine_not_built", "strategy.engine"),
                                          Mentions("libgloo-dev"), Mentions("TRAINYARD_GLOO=ON")));
  constexpr std::array both{Engine::own, Engine::gloo};
  EXPECT_TRUE(absent_engine(Engine::gloo, both).empty());
}

TEST(Engine, gloo_refuses_imposed_links_and_transports) {
  Experiment e = with_gloo(1, 3);
  EXPECT_TRUE(engine_problems(e).empty());
  e.run.transport = TransportKind::inproc;
  EXPECT_TRUE(engine_problems(e).empty()) << "inproc runs ranks as threads";
  e.run.links = LinkSpeed::imposed;
  e.run.transport = TransportKind::shm;
  EXPECT_THAT(places(engine_problems(e)), testing::ElementsAre("run.links", "run.transport"));
  EXPECT_THAT(places(semantic_problems(e, nullptr)),
              testing::IsSupersetOf({"run.links", "run.transport"}));
  e.strategy.engine = Engine::own;
  EXPECT_TRUE(engine_problems(e).empty());
}

Experiment with_nccl(StrategyKind kind) {
  Experiment e = small(1, 2);
  e.strategy.kind = kind;
  e.strategy.engine = Engine::nccl;
  for (topology::Device& device : e.topology.hosts[0].devices)
    device.kind = topology::DeviceKind::gpu, device.gpu = 0;
  return e;
}

TEST(Engine, nccl_refuses_threads) {
  Experiment e = with_nccl(StrategyKind::ddp);
  e.run.transport = TransportKind::inproc;
  const auto problems = engine_problems(e);
  ASSERT_THAT(places(problems), testing::ElementsAre("run.transport"));
  EXPECT_EQ(problems[0].id, "engine_needs_processes");
  EXPECT_EQ(problems[0].accepted, "auto");
}

TEST(Engine, nccl_supports_every_strategy_that_uses_collectives) {
  using enum StrategyKind;
  for (const StrategyKind kind :
       {mirrored, ddp, fsdp, model_parallel, pipeline, tensor_parallel, hybrid, local_sgd})
    EXPECT_TRUE(engine_problems(with_nccl(kind)).empty()) << base::name_of(kind);
  for (const StrategyKind kind : {rpc, parameter_server, central_storage, data_parallel})
    EXPECT_THAT(places(engine_problems(with_nccl(kind))), testing::ElementsAre("strategy.engine"))
        << base::name_of(kind);
}

TEST(Engine, nccl_requires_a_gpu_for_every_worker) {
  Experiment e = with_nccl(StrategyKind::mirrored);
  e.topology.hosts[0].devices[1].gpu = -1;
  const auto problems = engine_problems(e);
  EXPECT_THAT(problems, testing::ElementsAre(testing::AllOf(
                            IsProblem("device_without_gpu", "topology.hosts[0].devices[1].gpu"),
                            Mentions(e.topology.hosts[0].devices[1].name))));
  e.topology.hosts[0].devices[1].role = topology::Role::idle;
  EXPECT_TRUE(engine_problems(e).empty());
  constexpr std::array without{Engine::own, Engine::gloo};
  EXPECT_THAT(absent_engine(Engine::nccl, without),
              testing::ElementsAre(testing::AllOf(IsProblem("engine_not_built", "strategy.engine"),
                                                  Mentions("libnccl-dev"))));
}

TEST(Engine, gloo_does_not_use_algorithm_and_segments) {
  Experiment e = with_gloo(1, 3);
  e.strategy.algorithm = collective::Algorithm::automatic;
  for (const base::FieldDescription& field : strategy_fields(e))
    if (field.name == "algorithm" || field.name == "segment_bytes" || field.name == "servers" ||
        field.name == "gossip" || field.name == "local_sgd" || field.name == "stages" ||
        field.name == "fsdp" || field.name == "mesh" || field.name == "rpc")
      EXPECT_FALSE(field.used) << field.name;
    else EXPECT_TRUE(field.used) << field.name;
  e.strategy.kind = StrategyKind::one_device;
  for (const base::FieldDescription& field : strategy_fields(e))
    EXPECT_EQ(field.used, field.name == "kind") << field.name;
}

TEST(Engine, is_used_only_with_several_ranks) {
  if (built_engines().size() < 2) GTEST_SKIP() << "no other engine in this build";
  EXPECT_EQ(engine_of(resolve(with_gloo(1, 3), ".").value()), Engine::gloo);
  EXPECT_EQ(engine_of(resolve(with_gloo(1, 1), ".").value()), Engine::own);
  EXPECT_EQ(engine_of(resolve(small(1, 3), ".").value()), Engine::own);
}

TEST(Engine, resolved_experiment_has_no_unused_transport) {
  if (built_engines().size() < 2) GTEST_SKIP() << "no other engine in this build";
  const Resolved r = resolve(with_gloo(2, 2), ".").value();
  EXPECT_EQ(r.document.run.transport, TransportKind::automatic);
  const auto again = resolved_from_json(to_json(r));
  ASSERT_TRUE(again) << base::to_string(again.error());
  EXPECT_EQ(again->document, r.document);
}

}  // namespace
}  // namespace trainyard::experiment
