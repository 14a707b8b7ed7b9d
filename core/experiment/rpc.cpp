// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/rpc.h"

#include <fmt/core.h>

#include "core/base/units.h"
#include "core/experiment/fields.h"
#include "core/experiment/placement.h"
#include "core/experiment/stages.h"
#include "core/experiment/ties.h"

namespace trainyard::experiment {
namespace {

using base::format_count;
using base::Problem;
using base::ProblemCode;
using base::Problems;

bool has_table(const model::Segment& segment) {
  return segment.looks_up() || segment.kind == model::LayerKind::embedding;
}

std::string server(int place) { return "parameter server " + std::to_string(place); }

}  // namespace

model::RemoteCalls calls_of(const StrategySpec& strategy) {
  if (strategy.kind != StrategyKind::rpc) return model::RemoteCalls::none;
  return strategy.rpc.output == RemoteOutput::value ? model::RemoteCalls::by_value
                                                    : model::RemoteCalls::by_reference;
}

bool is_remote(const RpcSpec& rpc, const model::Model& model, int segment) {
  const model::Segment& owner = model.owner(model.segments[static_cast<std::size_t>(segment)]);
  return rpc.remote == RemoteLayers::embeddings ? has_table(owner) : owner.elements > 0;
}

std::vector<int> partitioned_segments(const StrategySpec& strategy, const model::Model& model) {
  const bool tables =
      strategy.kind == StrategyKind::rpc && strategy.rpc.remote == RemoteLayers::embeddings;
  std::vector<int> segments;
  for (int s = 0; s < static_cast<int>(model.segments.size()); ++s)
    if ((may_span_stages(strategy) || model.owner(s) == s) &&
        (!tables || is_remote(strategy.rpc, model, s)))
      segments.push_back(s);
  return segments;
}

Problems rpc_problems(const Experiment& experiment) {
  if (count_servers(experiment.topology) > 0) return {};
  return {{"no_server", ProblemCode::bad_input, "topology.hosts",
           "rpc needs servers that keep layers, but no device has the role parameter_server",
           "one or more devices with the role parameter_server, beside the workers that train",
           "Set the role of a device to parameter_server, or strategy.kind to ddp."}};
}

Problems remote_problems(const Experiment& experiment, const model::Model& model) {
  if (experiment.strategy.kind != StrategyKind::rpc) return {};
  const bool tables = experiment.strategy.rpc.remote == RemoteLayers::embeddings;
  const std::int64_t servers = count_servers(experiment.topology),
                     most = std::ssize(partitioned_segments(experiment.strategy, model));
  if (most == 0)
    return {{"no_remote_layers", ProblemCode::bad_input, "strategy.rpc.remote",
             "the model has no embedding table that a server could keep", "all",
             "Set strategy.rpc.remote to all, or use a model with an embedding, embedding_bag or "
             "wide layer."}};
  if (servers <= most) return {};
  return {{"too_many_servers", ProblemCode::bad_input, "topology.hosts",
           fmt::format("{} cannot share {}, because each server keeps full layers",
                       base::counted(servers, "parameter server"),
                       base::counted(most, tables ? "table" : "layer")),
           fmt::format("1 to {}", base::counted(most, "parameter server")),
           tables ? "Set the role of some servers to worker or idle, or strategy.rpc.remote to all."
                  : "Set the role of some servers to worker or idle, or use a deeper model."}};
}

Problems remote_place_problems(const Experiment& experiment, const model::Model& model,
                               const std::vector<int>& owners) {
  const RpcSpec& rpc = experiment.strategy.rpc;
  const std::string where = "strategy.stages.places",
                    remote = "strategy.rpc.remote is " + std::string(base::name_of(rpc.remote));
  for (std::size_t s = 0; s < owners.size(); ++s) {
    const model::Segment& segment = model.segments[s];
    const bool kept = owners[s] > 0, learns = model.owner(segment).elements > 0;
    if (!learns || kept == is_remote(rpc, model, static_cast<int>(s))) continue;
    const std::string name = "layer " + place_name(segment);
    return {
        kept
            ? Problem{"layer_not_remote", ProblemCode::bad_input, where,
                      fmt::format("{} is on {}, but it has no table, and {}", name,
                                  server(owners[s]), remote),
                      "place 0, the trainers",
                      "Place the layer on the trainers (place 0), or set strategy.rpc.remote to "
                      "all."}
            : Problem{"layer_not_local", ProblemCode::bad_input, where,
                      fmt::format("{} has parameters and is on the trainers, but {}", name, remote),
                      "place 1 or higher, a parameter server",
                      rpc.remote == RemoteLayers::all
                          ? "Place the layer on a server, or set strategy.rpc.remote to embeddings."
                          : "Place the layer on a server."}};
  }
  return {};
}

}  // namespace trainyard::experiment
