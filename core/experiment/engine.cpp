// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/engine.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "core/experiment/fields.h"
#include "core/experiment/rank_duties.h"
#include "core/topology/topology.h"

namespace trainyard::experiment {
namespace {

using base::ProblemCode;
using base::Problems;

// True if this build contains the library Gloo or NCCL.
constexpr bool kGloo = TRAINYARD_WITH_GLOO != 0, kNccl = TRAINYARD_WITH_NCCL != 0;

std::string listed(std::span<const Engine> engines) {
  std::string text;
  for (const Engine engine : engines)
    text += (text.empty() ? "" : ", ") + std::string(base::name_of(engine));
  return text;
}

// Returns a problem for the first device that trains but is not mapped to a GPU.
Problems not_on_gpus(const topology::Topology& topology) {
  for (std::size_t h = 0; h < topology.hosts.size(); ++h)
    for (std::size_t d = 0; d < topology.hosts[h].devices.size(); ++d) {
      const topology::Device& device = topology.hosts[h].devices[d];
      if (!topology::works(device) || topology::is_on_gpu(device)) continue;
      return {{"device_without_gpu", ProblemCode::bad_input,
               fmt::format("topology.hosts[{}].devices[{}].gpu", h, d),
               fmt::format("nccl needs ranks on GPUs, but {} is not mapped to a GPU", device.name),
               "the index of a GPU, as trainyard-cli list gpus prints it",
               "Map every device that trains to a GPU, or set strategy.engine to own."}};
    }
  return {};
}

// True if the engine does not support the strategy. Such a strategy exchanges data by other
// operations than collectives of all ranks.
bool is_beyond(Engine engine, StrategyKind kind) {
  if (engine == Engine::nccl && has_stages(kind)) return kind == StrategyKind::rpc;
  return fixed_algorithm(kind).has_value();
}

}  // namespace

std::span<const Engine> built_engines() {
  static const std::vector<Engine> engines = [] {
    std::vector<Engine> built{Engine::own};
    if (kGloo) built.push_back(Engine::gloo);
    if (kNccl) built.push_back(Engine::nccl);
    return built;
  }();
  return engines;
}

Problems absent_engine(Engine asked, std::span<const Engine> built) {
  if (std::find(built.begin(), built.end(), asked) != built.end()) return {};
  return {{"engine_not_built", ProblemCode::unavailable, "strategy.engine",
           fmt::format("this build of Trainyard does not contain {}", base::name_of(asked)),
           listed(built),
           asked == Engine::nccl
               ? "Install the CUDA Toolkit and NCCL's headers (libnccl-dev) and build again with "
                 "-DTRAINYARD_CUDA=ON, or set strategy.engine to own."
               : "Install libgloo-dev and build again with -DTRAINYARD_GLOO=ON, or set "
                 "strategy.engine to own."}};
}

Problems engine_problems(const Experiment& experiment) {
  const StrategySpec& strategy = experiment.strategy;
  if (strategy.engine == Engine::own || strategy.kind == StrategyKind::one_device) return {};
  const std::string name(base::name_of(strategy.engine));
  const bool all_reduces = strategy.engine == Engine::gloo;  // Gloo supports only all-reduce here.
  Problems problems =
      strategy.engine == Engine::nccl ? not_on_gpus(experiment.topology) : Problems();
  if (all_reduces && strategy.kind == StrategyKind::fsdp)
    problems.push_back(
        {"engine_lacks_operation", ProblemCode::bad_input, "strategy.engine",
         fmt::format(
             "{} supports only all-reduce here, but fsdp also needs all-gather and reduce-scatter",
             name),
         "own", "Set strategy.engine to own, or strategy.kind to ddp."});
  if (all_reduces && strategy.kind == StrategyKind::tensor_parallel)
    problems.push_back(
        {"engine_lacks_operation", ProblemCode::bad_input, "strategy.engine",
         fmt::format("{} supports only all-reduce here, but tensor_parallel also gathers logits",
                     name),
         "own", "Set strategy.engine to own, or strategy.kind to ddp."});
  if (all_reduces && strategy.kind == StrategyKind::hybrid)
    problems.push_back({"engine_lacks_operation", ProblemCode::bad_input, "strategy.engine",
                        fmt::format("{} supports only all-reduce here, but hybrid also sends "
                                    "activations and gathers shards",
                                    name),
                        "own", "Set strategy.engine to own, or strategy.kind to ddp."});
  if (strategy.kind == StrategyKind::rpc)
    problems.push_back(
        {"engine_lacks_operation", ProblemCode::bad_input, "strategy.engine",
         fmt::format("{} supports only collectives here, but rpc calls layers on other ranks",
                     name),
         "own", "Set strategy.engine to own, or strategy.kind to ddp."});
  if (is_beyond(strategy.engine, strategy.kind) && strategy.kind != StrategyKind::rpc)
    problems.push_back(
        {"engine_lacks_operation", ProblemCode::bad_input, "strategy.engine",
         fmt::format("{} supports only {} here, but {} {}", name,
                     all_reduces ? "all-reduce" : "collectives", base::name_of(strategy.kind),
                     has_stages(strategy.kind) ? "sends activations" : "reduces on one rank"),
         "own",
         "Set strategy.engine to own, or strategy.kind to a strategy that all-reduces, such as "
         "ddp."});
  if (strategy.compression.kind != compute::compression::Scheme::none)
    problems.push_back({"engine_without_compression", ProblemCode::bad_input,
                        "strategy.compression.kind",
                        fmt::format("{} does not compress gradients", name), "none",
                        "Set strategy.compression.kind to none, or strategy.engine to own."});
  if (experiment.run.links == LinkSpeed::imposed)
    problems.push_back(
        {"engine_ignores_links", ProblemCode::bad_input, "run.links",
         fmt::format("{} uses its own connections, so imposed links have no effect on it", name),
         "drawn_only", "Set run.links to drawn_only, or strategy.engine to own."});
  if (const TransportKind asked = experiment.run.transport;
      !all_reduces && asked == TransportKind::inproc)
    problems.push_back({"engine_needs_processes", ProblemCode::bad_input, "run.transport",
                        fmt::format("{} needs a process for each rank, but with "
                                    "run.transport=inproc ranks are threads of one process",
                                    name),
                        "auto", "Set run.transport to auto, or strategy.engine to own."});
  else if (asked == TransportKind::shm || asked == TransportKind::zmq)
    problems.push_back(
        {"engine_has_transport", ProblemCode::bad_input, "run.transport",
         fmt::format("{} uses its own transport{}", name, all_reduces ? " (TCP)" : ""),
         all_reduces ? "auto, inproc" : "auto",
         all_reduces ? "Set run.transport to auto, to inproc (ranks are then threads of one "
                       "process), or set strategy.engine to own."
                     : "Set run.transport to auto, or strategy.engine to own."});
  return problems;
}

Engine engine_of(const Resolved& resolved) {
  const StrategySpec& strategy = resolved.document.strategy;
  return resolved.world() < 2 || strategy.kind == StrategyKind::one_device ? Engine::own
                                                                           : strategy.engine;
}

}  // namespace trainyard::experiment
