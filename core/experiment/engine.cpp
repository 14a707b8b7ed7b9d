// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/engine.h"

#include <algorithm>
#include <vector>

#include "core/experiment/fields.h"
#include "core/experiment/rank_duties.h"
#include "core/topology/topology.h"

namespace trainyard::experiment {
namespace {

using base::ProblemCode;
using base::Problems;

// Set by the build.
constexpr bool kGloo = TRAINYARD_WITH_GLOO != 0, kNccl = TRAINYARD_WITH_NCCL != 0;

std::string listed(std::span<const Engine> engines) {
  std::string text;
  for (const Engine engine : engines)
    text += (text.empty() ? "" : ", ") + std::string(base::name_of(engine));
  return text;
}

// Reports ranks that are not on GPUs.
Problems not_on_gpus(const topology::Topology& topology) {
  for (std::size_t h = 0; h < topology.hosts.size(); ++h)
    for (std::size_t d = 0; d < topology.hosts[h].devices.size(); ++d) {
      const topology::Device& device = topology.hosts[h].devices[d];
      if (!topology::works(device) || topology::is_on_gpu(device)) continue;
      return {{ProblemCode::bad_input,
               "topology.hosts[" + std::to_string(h) + "].devices[" + std::to_string(d) + "].gpu",
               "nccl works between GPUs, and " + device.name + " is on none",
               "the number of one, as trainyard-cli list gpus says",
               "Choose one for every device that trains, or strategy.engine=own."}};
    }
  return {};
}

// True if ranks of this strategy exchange data other than in collectives of all ranks, which the
// engine cannot do.
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
  return {
      {ProblemCode::unavailable, "strategy.engine",
       std::string(base::name_of(asked)) + " is not in this build of Trainyard", listed(built),
       asked == Engine::nccl
           ? "Install the CUDA Toolkit and NCCL's header (libnccl-dev) and build again (cmake "
             "-DTRAINYARD_CUDA=ON), or choose own."
           : "Install libgloo-dev and build again (cmake -DTRAINYARD_GLOO=ON), or choose own."}};
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
        {ProblemCode::bad_input, "strategy.engine",
         name + " only all-reduces here, and fsdp gathers parameters and reduce-scatters gradients",
         "own", "Choose own, or ddp."});
  if (all_reduces && strategy.kind == StrategyKind::tensor_parallel)
    problems.push_back(
        {ProblemCode::bad_input, "strategy.engine",
         name + " only all-reduces here, and tensor_parallel gathers what the loss asks of logits",
         "own", "Choose own, or ddp."});
  if (all_reduces && strategy.kind == StrategyKind::hybrid)
    problems.push_back(
        {ProblemCode::bad_input, "strategy.engine",
         name +
             " only all-reduces here, and hybrid hands on activations, and gathers what it splits",
         "own", "Choose own, or ddp."});
  if (strategy.kind == StrategyKind::rpc)
    problems.push_back({ProblemCode::bad_input, "strategy.engine",
                        name + " carries out collectives here, and rpc calls layers on other ranks",
                        "own", "Choose own, or ddp."});
  if (is_beyond(strategy.engine, strategy.kind) && strategy.kind != StrategyKind::rpc)
    problems.push_back(
        {ProblemCode::bad_input, "strategy.engine",
         name +
             (all_reduces ? " only all-reduces here, and "
                          : " carries out collectives here, and ") +
             std::string(base::name_of(strategy.kind)) +
             (has_stages(strategy.kind) ? " hands on activations" : " sums on one rank"),
         "own", "Choose own, or a strategy that all-reduces, as ddp."});
  if (strategy.compression.kind != compute::compression::Scheme::none)
    problems.push_back({ProblemCode::bad_input, "strategy.compression.kind",
                        name + " carries gradients as they are", "none",
                        "Choose none, or strategy.engine=own."});
  if (experiment.run.links == LinkSpeed::imposed)
    problems.push_back({ProblemCode::bad_input, "run.links",
                        name + " sends what it sends by itself: no link can be imposed on it",
                        "drawn_only", "Choose drawn_only, or strategy.engine=own."});
  if (const TransportKind asked = experiment.run.transport;
      !all_reduces && asked == TransportKind::inproc)
    problems.push_back(
        {ProblemCode::bad_input, "run.transport",
         name +
             " wants a process for each rank: what it is told is told to a process when it begins",
         "auto", "Choose auto, or strategy.engine=own."});
  else if (asked == TransportKind::shm || asked == TransportKind::zmq)
    problems.push_back(
        {ProblemCode::bad_input, "run.transport",
         name + " brings its own transport" + (all_reduces ? " (TCP)" : "") +
             ", and this one would carry nothing",
         all_reduces ? "auto, inproc" : "auto",
         all_reduces ? "Choose auto, or inproc for ranks that are threads, or strategy.engine=own."
                     : "Choose auto, or strategy.engine=own."});
  return problems;
}

Engine engine_of(const Resolved& resolved) {
  const StrategySpec& strategy = resolved.document.strategy;
  return resolved.world() < 2 || strategy.kind == StrategyKind::one_device ? Engine::own
                                                                           : strategy.engine;
}

}  // namespace trainyard::experiment
