// SPDX-License-Identifier: GPL-3.0-or-later
// The strategy tpu: requirements and defaults.
#include "core/experiment/tpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/base/json.h"
#include "core/collective/cost.h"
#include "core/experiment/placement.h"
#include "core/experiment/rank_duties.h"
#include "core/experiment/validation_result.h"
#include "core/experiment/variant.h"
#include "core/topology/network.h"
#include "tests/core/experiment/golden.h"
#include "tests/core/strategy/experiments.h"
#include "tests/problem_matchers.h"

namespace trainyard::experiment {
namespace {

using base::IsProblem;
using collective::Algorithm;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

using Change = void (*)(Experiment&);

Experiment on_tpus(int hosts, int devices) {
  Experiment e = strategy::small(1);
  e.topology = tests::drawn_tpus(hosts, devices);
  e.strategy.kind = StrategyKind::tpu;
  e.strategy.algorithm = Algorithm::torus;
  return e;
}

void expect_problem(Change change, const std::string& where, const std::string& id) {
  Experiment e = on_tpus(1, 4);
  change(e);
  const base::Problems problems = validate(e, ".");
  ASSERT_THAT(problems, ElementsAre(IsProblem(id, where)));
  EXPECT_FALSE(problems[0].accepted.empty() || problems[0].advice.empty());
}

TEST(Tpu, supports_any_number_of_tpus) {
  for (int devices = 1; devices <= 9; ++devices)
    EXPECT_EQ(base::to_string(validate(on_tpus(1, devices), ".")), "") << devices;
  EXPECT_TRUE(validate(on_tpus(4, 4), ".").empty());
}

TEST(Tpu, requires_tpus) {
  expect_problem(
      [](Experiment& e) { e.topology.hosts[0].devices[2].kind = topology::DeviceKind::cpu; },
      "strategy.kind", "workers_not_tpus");
  expect_problem([](Experiment& e) { e.topology = tests::drawn_storage(2); }, "strategy.kind",
                 "workers_not_tpus");
  Experiment idle = on_tpus(1, 4);
  idle.topology.hosts[0].devices[0].kind = topology::DeviceKind::cpu;
  idle.topology.hosts[0].devices[0].role = topology::Role::idle;
  EXPECT_TRUE(validate(idle, ".").empty());
}

TEST(Tpu, supports_only_the_torus_algorithm) {
  expect_problem([](Experiment& e) { e.strategy.algorithm = Algorithm::ring; },
                 "strategy.algorithm", "algorithm_not_torus");
  expect_problem([](Experiment& e) { e.strategy.engine = Engine::gloo; }, "strategy.engine",
                 "engine_lacks_operation");
}

TEST(Tpu, refuses_unsupported_settings) {
  using compute::compression::Scheme;
  expect_problem([](Experiment& e) { e.training.multiplies = Multiplies::full; },
                 "training.multiplies", "tpu_multiplies_in_bfloat16");
  expect_problem([](Experiment& e) { e.training.precision = Precision::fp64; },
                 "training.precision", "tpu_without_fp64");
  expect_problem([](Experiment& e) { e.strategy.average = AveragedQuantity::weights; },
                 "strategy.average", "average_not_supported");
  for (const Algorithm algorithm : {Algorithm::torus, Algorithm::automatic}) {
    Experiment gathered = on_tpus(1, 4);
    gathered.strategy.algorithm = algorithm;
    gathered.strategy.compression.kind = Scheme::top_k;
    EXPECT_THAT(validate(gathered, "."),
                ElementsAre(IsProblem("strategy_cannot_gather", "strategy.compression.kind")));
    gathered.strategy.compression.kind = Scheme::bf16;
    EXPECT_EQ(base::to_string(validate(gathered, ".")), "");
  }
}

TEST(Tpu, resolves_auto_to_torus_and_states_its_shape) {
  const auto reason = [](int hosts, int devices) {
    Experiment e = on_tpus(hosts, devices);
    e.strategy.algorithm = Algorithm::automatic;
    const Resolved r = resolve(e, ".").value();
    EXPECT_EQ(r.document.strategy.algorithm, Algorithm::torus);
    return r.algorithm_reason;
  };
  EXPECT_THAT(reason(1, 8), HasSubstr("a 2 x 4 torus"));
  EXPECT_THAT(reason(4, 2), HasSubstr("a 4 x 2 torus")) << "a row is a host";
  EXPECT_THAT(reason(1, 7), AllOf(HasSubstr("a 1 x 7 torus"), HasSubstr("ring")));
  EXPECT_EQ(reason(1, 1), "") << "one rank reduces nothing";
  EXPECT_EQ(resolve(on_tpus(1, 8), ".")->algorithm_reason, "") << "the algorithm is set";
}

TEST(Tpu, uses_torus_if_the_document_has_no_algorithm) {
  base::Json json = to_json(on_tpus(1, 4));
  json["strategy"].erase("algorithm");
  EXPECT_EQ(from_json(json)->strategy.algorithm, Algorithm::automatic);
  EXPECT_EQ(resolve(from_json(json).value(), ".")->document.strategy.algorithm, Algorithm::torus);
  json["strategy"]["algorithm"] = "ring";
  EXPECT_EQ(from_json(json)->strategy.algorithm, Algorithm::ring)
      << "an explicit algorithm is kept";
  json["strategy"].erase("algorithm");
  json["strategy"]["kind"] = "mirrored";
  EXPECT_EQ(from_json(json)->strategy.algorithm, Algorithm::ring);
}

TEST(Tpu, emulation_has_a_caveat) {
  EXPECT_THAT(emulation_caveat(on_tpus(1, 4).topology),
              Optional(AllOf(HasSubstr("4 of 4 devices"), HasSubstr("TPU"))));
  EXPECT_THAT(emulation_caveat(tests::drawn_storage(2)),
              Optional(AllOf(HasSubstr("2 of 3 devices"), HasSubstr("GPU"))));
  EXPECT_EQ(emulation_caveat(tests::drawn_hosts(1, 2)), std::nullopt);
  Experiment mixed = on_tpus(1, 4);
  mixed.topology.hosts[0].devices[0].kind = topology::DeviceKind::gpu;
  mixed.topology.hosts[0].devices[1].role = topology::Role::idle;
  EXPECT_THAT(emulation_caveat(mixed.topology),
              Optional(AllOf(HasSubstr("3 of 3 devices"), HasSubstr("GPUs or TPUs"))));
}

TEST(Tpu, scales_only_with_torus) {
  const Experiment whole = on_tpus(1, 8);
  EXPECT_EQ(resolve(variant(whole, {.ranks = 4, .algorithm = Algorithm::torus}).value(), ".")
                ->document.strategy.kind,
            StrategyKind::tpu);
  EXPECT_TRUE(variant(whole, {.ranks = 1, .algorithm = Algorithm::ring}));
  const auto star = variant(whole, {.ranks = 4, .algorithm = Algorithm::star});
  ASSERT_FALSE(star);
  EXPECT_THAT(star.error(), IsProblem("algorithm_is_fixed", "strategy.algorithm"));
}

TEST(Tpu, device_of_an_unknown_kind_causes_no_other_problem) {
  base::Json json = to_json(on_tpus(1, 4));
  json["topology"]["hosts"][0]["devices"][1]["kind"] = "tpuu";
  const auto read = from_json(json);
  ASSERT_FALSE(read);
  ASSERT_EQ(read.error().size(), 1u);
  EXPECT_EQ(remaining_problems(read.error(), json, nullptr), base::Problems{});
}

// In the example every message of the all-reduce uses exactly one drawn link.
TEST(Tpu, links_of_the_example_match_the_torus) {
  const Resolved r =
      resolve(load(in_tree("resources/experiments/eight_tpus_torus_digits.json")).value(), ".")
          .value();
  const topology::Network network(r.document.topology);
  const collective::Work work{1000, 4, r.ranks, r.hosts};
  std::set<std::pair<std::string, std::string>> crossed;
  for (const collective::Flow& flow : collective::flows(Algorithm::torus, 0, work)) {
    const auto from = r.ranks[static_cast<std::size_t>(flow.from)],
               to = r.ranks[static_cast<std::size_t>(flow.to)];
    const auto route = network.route(from, to).value();
    ASSERT_EQ(route.hops.size(), 1u) << flow.from << " to " << flow.to;
    crossed.insert(std::minmax(network.device(from).name, network.device(to).name));
  }
  EXPECT_EQ(crossed.size(), r.document.topology.links.size()) << "a link is unused";
}

}  // namespace
}  // namespace trainyard::experiment
