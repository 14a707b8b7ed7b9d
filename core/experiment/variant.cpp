// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/variant.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "core/base/shortened.h"
#include "core/base/units.h"
#include "core/collective/formation.h"
#include "core/experiment/compression.h"
#include "core/experiment/fields.h"
#include "core/experiment/placement.h"
#include "core/experiment/rank_duties.h"
#include "core/experiment/servers.h"
#include "core/experiment/tpu.h"
#include "core/topology/first_ranks.h"
#include "core/topology/network.h"

namespace trainyard::experiment {
namespace {

using base::format_count;
using base::Problem;
using base::ProblemCode;

// Value of run.evaluate_every_steps (its maximum) with which no evaluation takes place.
constexpr std::int64_t kNoStep = 1'000'000'000'000;

std::string counted_ranks(std::int64_t ranks) {
  return format_count(ranks) + (ranks == 1 ? " rank" : " ranks");
}

Problem too_many(std::int64_t ranks, std::int64_t drawn) {
  const std::string advice = "Draw more devices, or set the role of idle devices to worker.";
  if (drawn == 0)
    return {"no_worker",           ProblemCode::bad_input,
            "topology.hosts",      "no device has the role worker",
            "at least one worker", advice};
  return {"more_ranks_than_drawn",
          ProblemCode::bad_input,
          "ranks",
          fmt::format("{} ranks are requested, but the drawing has only {}", format_count(ranks),
                      counted_ranks(drawn)),
          fmt::format("1 to {}", format_count(drawn)),
          advice};
}

// True if the strategy works on any number of ranks, and its algorithm can be chosen.
bool scales(StrategyKind kind) {
  return kind != StrategyKind::one_device && !has_stages(kind) && !fixed_algorithm(kind);
}

std::string scalable_strategies() {
  std::string kinds;
  for (const auto& [kind, name] : base::Names<StrategyKind>::table)
    if (scales(kind)) kinds += (kinds.empty() ? "" : ", ") + std::string(name);
  return kinds;
}

Problem nothing_to_scale() {
  return {"strategy_does_not_scale", ProblemCode::bad_input,
          "strategy.kind",           "one_device uses one device, so there is nothing to compare",
          scalable_strategies(),     "Set strategy.kind to mirrored."};
}

Problem without_algorithm(StrategyKind kind) {
  const char* why =
      kind == StrategyKind::hybrid ? "has a mesh of a fixed size, which needs all devices"
      : kind == StrategyKind::rpc  ? "has a fixed number of trainers and servers"
      : has_stages(kind)  ? "sends activations between layers, so there is no all-reduce to compare"
      : has_servers(kind) ? "updates on its servers, so there is no all-reduce to compare"
                          : "gives one rank a special role and reduces in only one way, so there "
                            "is no all-reduce to compare";
  return {"strategy_does_not_scale", ProblemCode::bad_input,
          "strategy.kind",           fmt::format("{} {}", base::name_of(kind), why),
          scalable_strategies(),     "Set strategy.kind to mirrored."};
}

Problem without_bytes(Engine engine) {
  return {"engine_without_bytes",
          ProblemCode::bad_input,
          "strategy.engine",
          fmt::format("a sweep compares bytes, but the engine {} does not report bytes",
                      base::name_of(engine)),
          "own",
          "Set strategy.engine to own."};
}

base::Result<void> can_scale(const StrategySpec& strategy) {
  if (strategy.kind == StrategyKind::one_device) return base::fail(nothing_to_scale());
  if (!scales(strategy.kind)) return base::fail(without_algorithm(strategy.kind));
  if (strategy.engine != Engine::own) return base::fail(without_bytes(strategy.engine));
  return {};
}

Problem unshareable(std::int64_t samples, std::int64_t ranks, bool in_micro_steps) {
  return {"batch_not_divisible",
          ProblemCode::bad_input,
          "training.batch_per_rank",
          fmt::format("{} of {} samples cannot be divided evenly among {}",
                      in_micro_steps ? "a micro-step" : "a global batch", format_count(samples),
                      counted_ranks(ranks)),
          "a multiple of the number of ranks",
          "Change training.batch_per_rank, or choose weak scaling."};
}

base::Result<void> fit_strategy(StrategySpec& strategy, const std::vector<int>& hosts) {
  const bool one_host = std::set<int>(hosts.begin(), hosts.end()).size() == 1;
  if (one_host && strategy.kind == StrategyKind::multi_worker_mirrored)
    strategy.kind = StrategyKind::mirrored;
  if (strategy.algorithm == collective::Algorithm::automatic ||
      collective::fits(strategy.algorithm, collective::formation(hosts)))
    return {};
  return base::fail(
      {"hosts_not_even", ProblemCode::bad_input, "strategy.algorithm",
       fmt::format("{} needs the same number of ranks on every host, but the first {} are not "
                   "distributed evenly",
                   base::name_of(strategy.algorithm), counted_ranks(std::ssize(hosts))),
       "hosts with equal numbers of ranks",
       "Choose another number of ranks, or set strategy.algorithm to auto."});
}

Problem fixed_all_reduce_problem(const StrategySpec& strategy, const FixedAlgorithm& only) {
  const std::string name(base::name_of(only.algorithm));
  return {"algorithm_is_fixed",
          ProblemCode::bad_input,
          "strategy.algorithm",
          fmt::format("{} supports only {}, not {}", base::name_of(strategy.kind), name,
                      base::name_of(strategy.algorithm)),
          name + ", auto",
          "Set strategy.algorithm to auto."};
}

base::Result<void> fit_batch(TrainingSpec& training, const Variant& wanted, std::int64_t drawn) {
  if (wanted.scaling == Scaling::weak) return {};
  const std::int64_t of_all = training.batch_per_rank * drawn;
  if (of_all % wanted.ranks != 0)
    return base::fail(unshareable(of_all, wanted.ranks, training.accumulation_steps > 1));
  training.batch_per_rank = of_all / wanted.ranks;
  return {};
}

}  // namespace

std::string describe(const Variant& variant) {
  if (variant.ranks == 1) return counted_ranks(1);
  return std::string(base::name_of(variant.algorithm)) + " on " + counted_ranks(variant.ranks);
}

base::Result<Experiment> variant(const Experiment& whole, const Variant& wanted) {
  if (auto problems = topology::validate(whole.topology, "topology"); !problems.empty())
    return base::fail(problems.front());
  const std::int64_t drawn = count_workers(whole.topology);
  if (const auto ok = can_scale(whole.strategy); !ok) return base::fail(ok.error());
  if (wanted.ranks < 1 || wanted.ranks > drawn) return base::fail(too_many(wanted.ranks, drawn));
  Experiment e = whole;
  e.name = (whole.name.empty() ? "" : base::shortened(whole.name) + ", ") + describe(wanted);
  e.topology = topology::first_ranks(whole.topology, wanted.ranks);
  if (wanted.ranks > 1) e.strategy.algorithm = wanted.algorithm;
  if (wanted.ranks == 1) e.strategy.algorithm = collective::Algorithm::automatic;
  e.training.steps = wanted.steps;
  e.run.evaluate_every_steps = kNoStep;
  e.run.seconds_per_step = 0;
  if (const auto only = required_all_reduce(e.strategy.kind);
      only && !torus_problems(e.strategy).empty())
    return base::fail(fixed_all_reduce_problem(e.strategy, *only));
  if (const auto ok = fit_strategy(e.strategy, hosts_of_workers(e.topology)); !ok)
    return base::fail(ok.error());
  if (const auto ok = fit_batch(e.training, wanted, drawn); !ok) return base::fail(ok.error());
  if (const auto problems = compression_problems(e); wanted.ranks > 1 && !problems.empty())
    return base::fail(problems.front());
  return e;
}

}  // namespace trainyard::experiment
