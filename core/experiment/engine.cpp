// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/engine.h"

#include <algorithm>
#include <array>

#include "core/experiment/duties.h"
#include "core/experiment/fields.h"

namespace trainyard::experiment {
namespace {

using base::ProblemCode;
using base::Problems;

constexpr bool kGloo = TRAINYARD_WITH_GLOO != 0;  // the build says

std::string listed(std::span<const Engine> engines) {
  std::string text;
  for (const Engine engine : engines) text += (text.empty() ? "" : ", ") + std::string(base::name_of(engine));
  return text;
}

}  // namespace

std::span<const Engine> built_engines() {
  static constexpr std::array<Engine, 2> engines{Engine::own, Engine::gloo};
  return std::span(engines).first(kGloo ? 2 : 1);
}

Problems absent_engine(Engine asked, std::span<const Engine> built) {
  if (std::find(built.begin(), built.end(), asked) != built.end()) return {};
  return {{ProblemCode::unavailable, "strategy.engine", std::string(base::name_of(asked)) + " is not in this build of Trainyard", listed(built),
           "Install libgloo-dev and build again (cmake -DTRAINYARD_GLOO=ON), or choose own."}};
}

Problems engine_problems(const Experiment& experiment) {
  const StrategySpec& strategy = experiment.strategy;
  if (strategy.engine == Engine::own || strategy.kind == StrategyKind::one_device) return {};
  const std::string name(base::name_of(strategy.engine));
  Problems problems;
  if (strategy.kind == StrategyKind::fsdp)
    problems.push_back({ProblemCode::bad_input, "strategy.engine", name + " only all-reduces here, and fsdp gathers parameters and reduce-scatters gradients",
                        "own", "Choose own, or ddp."});
  if (strategy.kind == StrategyKind::tensor_parallel)
    problems.push_back({ProblemCode::bad_input, "strategy.engine", name + " only all-reduces here, and tensor_parallel gathers what the loss asks of logits",
                        "own", "Choose own, or ddp."});
  if (strategy.kind == StrategyKind::hybrid)
    problems.push_back({ProblemCode::bad_input, "strategy.engine", name + " only all-reduces here, and hybrid hands on activations, and gathers what it splits",
                        "own", "Choose own, or ddp."});
  if (strategy.kind == StrategyKind::rpc)
    problems.push_back(
        {ProblemCode::bad_input, "strategy.engine", name + " only all-reduces here, and rpc calls layers on other ranks", "own", "Choose own, or ddp."});
  if (fixed_algorithm(strategy.kind))
    problems.push_back({ProblemCode::bad_input, "strategy.engine",
                        name + " only all-reduces here, and " + std::string(base::name_of(strategy.kind)) +
                            (has_stages(strategy.kind) ? " hands on activations" : " sums on one rank"),
                        "own", "Choose own, or a strategy that all-reduces, as ddp."});
  if (strategy.compression.kind != compute::compression::Scheme::none)
    problems.push_back(
        {ProblemCode::bad_input, "strategy.compression.kind", name + " carries gradients as they are", "none", "Choose none, or strategy.engine=own."});
  if (experiment.run.links == LinkSpeed::imposed)
    problems.push_back({ProblemCode::bad_input, "run.links", name + " sends what it sends by itself: no link can be imposed on it", "drawn_only",
                        "Choose drawn_only, or strategy.engine=own."});
  if (const TransportKind asked = experiment.run.transport; asked == TransportKind::shm || asked == TransportKind::zmq)
    problems.push_back({ProblemCode::bad_input, "run.transport", name + " brings its own transport (TCP), and this one would carry nothing", "auto, inproc",
                        "Choose auto, or inproc for ranks that are threads, or strategy.engine=own."});
  return problems;
}

Engine engine_of(const Resolved& resolved) {
  const StrategySpec& strategy = resolved.document.strategy;
  return resolved.world() < 2 || strategy.kind == StrategyKind::one_device ? Engine::own : strategy.engine;
}

}  // namespace trainyard::experiment
