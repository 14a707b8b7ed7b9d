// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/mesh.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "core/base/units.h"
#include "core/experiment/fields.h"
#include "core/experiment/fsdp.h"
#include "core/experiment/placement.h"
#include "core/experiment/stages.h"
#include "core/experiment/ties.h"
#include "core/topology/network.h"

namespace trainyard::experiment {
namespace {

using base::format_count;
using base::Problem;
using base::ProblemCode;

std::string describe(const MeshSpec& mesh) {
  return fmt::format("{}{} x {}", mesh.data > 0 ? format_count(mesh.data) + " x " : "",
                     format_count(mesh.pipeline), format_count(mesh.tensor));
}

Problem not_covered(const MeshSpec& mesh, std::int64_t workers) {
  const std::int64_t replica = mesh.pipeline * mesh.tensor;
  const std::string drawn = fmt::format("{} {} the role worker", base::counted(workers, "device"),
                                        workers == 1 ? "has" : "have");
  if (mesh.data > 0)
    return {"mesh_not_covered",
            ProblemCode::bad_input,
            "strategy.mesh",
            fmt::format("a mesh of {} has {}, but {}", describe(mesh),
                        base::counted(mesh.data * replica, "device"), drawn),
            fmt::format("data x pipeline x tensor = {}", format_count(workers)),
            workers % replica == 0 ? fmt::format("Set strategy.mesh.data to {}, or to 0 for as "
                                                 "many replicas as the devices allow.",
                                                 format_count(workers / replica))
                                   : "Change strategy.mesh, or the roles of devices."};
  return {"mesh_not_covered",
          ProblemCode::bad_input,
          "strategy.mesh",
          fmt::format("replicas of {} devices each cannot cover all workers: {}", describe(mesh),
                      drawn),
          fmt::format("a multiple of {} workers", format_count(replica)),
          "Change strategy.mesh.pipeline or strategy.mesh.tensor, or the roles of devices."};
}

// Returns a problem for the first stage whose tensor parts are on several hosts.
std::optional<Problem> apart(const Mesh& mesh, const topology::Topology& topology) {
  const topology::Network network(topology);
  const std::vector<int> hosts = hosts_of(network, network.workers());
  for (int rank = 0; rank + 1 < mesh.ranks(); ++rank) {
    const int host = hosts[static_cast<std::size_t>(rank)],
              next = hosts[static_cast<std::size_t>(rank) + 1];
    if (rank / mesh.tensor != (rank + 1) / mesh.tensor || host == next) continue;
    const auto name = [&](int h) {
      return "\"" + topology.hosts[static_cast<std::size_t>(h)].name + "\"";
    };
    return Problem{"tensor_group_on_several_hosts",
                   ProblemCode::bad_input,
                   "strategy.mesh.tensor",
                   fmt::format("ranks {} and {} would share layers, but are on the hosts {} and "
                               "{}; outputs and gradients of shared layers are all-reduced between "
                               "the two hosts twice per micro-batch",
                               rank, rank + 1, name(host), name(next)),
                   "a divisor of the number of workers of every host",
                   "Lower strategy.mesh.tensor, or draw more devices on each host."};
  }
  return std::nullopt;
}

// Checks for each mesh position that its replicas can be sharded within each host.
std::optional<Problem> on_hosts(const Mesh& mesh, const topology::Topology& topology) {
  const topology::Network network(topology);
  const std::vector<int> hosts = hosts_of(network, network.workers());
  for (int stage = 0; stage < mesh.pipeline; ++stage)
    for (int part = 0; part < mesh.tensor; ++part) {
      std::vector<int> of_place;
      for (const int rank : mesh.replicas_of(mesh.rank_of({0, stage, part})))
        of_place.push_back(hosts[static_cast<std::size_t>(rank)]);
      if (auto problem = host_group_problem(of_place)) return problem;
    }
  return std::nullopt;
}

// Checks sharding among replicas.
std::optional<Problem> of_shards(const Experiment& experiment) {
  const StrategySpec& strategy = experiment.strategy;
  if (!strategy.mesh.shards_data) return std::nullopt;
  if (strategy.fsdp.group == ShardGroup::host)
    if (auto problem = on_hosts(mesh_of(experiment), experiment.topology)) return problem;
  if (strategy.algorithm != collective::Algorithm::ring &&
      strategy.algorithm != collective::Algorithm::direct &&
      strategy.algorithm != collective::Algorithm::automatic)
    return Problem{
        "algorithm_cannot_scatter",
        ProblemCode::bad_input,
        "strategy.algorithm",
        fmt::format("sharded replicas need separate all-gathers and reduce-scatters, which {} does "
                    "not have",
                    base::name_of(strategy.algorithm)),
        "ring, direct or auto",
        "Set strategy.algorithm to another algorithm, or strategy.mesh.shards_data to false."};
  return std::nullopt;
}

// Checks that the mesh supports pipedream, which updates after every micro-batch.
std::optional<Problem> of_each_micro_batch(const StrategySpec& strategy) {
  if (strategy.stages.schedule != PipelineSchedule::pipedream ||
      (strategy.mesh.pipeline > 1 && !strategy.mesh.shards_data))
    return std::nullopt;
  return Problem{"pipedream_not_supported",
                 ProblemCode::bad_input,
                 "strategy.stages.schedule",
                 strategy.mesh.pipeline > 1
                     ? "pipedream stores full weight versions and updates after every micro-batch, "
                       "so sharded replicas would save no memory"
                     : "pipedream needs a pipeline, but the mesh has one stage",
                 "naive, gpipe, 1f1b, interleaved_1f1b, zb_h1",
                 strategy.mesh.pipeline > 1 ? "Set strategy.stages.schedule to another schedule, "
                                              "or strategy.mesh.shards_data to false."
                                            : "Set strategy.stages.schedule to another schedule."};
}

}  // namespace

MeshCoordinates Mesh::place_of(int rank) const {
  const int at = rank / tensor, stage = !calls ? at / data : at < data ? 0 : at - data + 1;
  return {at - first_of(stage), stage, rank % tensor};
}

CallerSet Mesh::callers(const MeshCoordinates& place) const {
  return calls ? CallerSet{data, place.stage == 0 ? place.replica : -1} : CallerSet();
}

std::vector<int> Mesh::replicas_of(int rank) const {
  std::vector<int> ranks;
  for (MeshCoordinates at = place_of(rank), to{0, at.stage, at.part};
       to.replica < replicas(at.stage); ++to.replica)
    ranks.push_back(rank_of(to));
  return ranks;
}

std::vector<int> Mesh::tensor_group(int rank) const {
  std::vector<int> ranks;
  for (int first = rank - rank % tensor, r = first; r < first + tensor; ++r) ranks.push_back(r);
  return ranks;
}

std::vector<int> Mesh::stage(int number) const {
  std::vector<int> ranks;
  for (int r = first_of(number) * tensor; r < first_of(number + 1) * tensor; ++r)
    ranks.push_back(r);
  return ranks;
}

namespace {

Mesh mesh_of(const StrategySpec& strategy, int workers, int servers) {
  if (strategy.kind == StrategyKind::rpc) return {workers, 1 + servers, 1, true};
  if (strategy.kind == StrategyKind::tensor_parallel) return {1, 1, workers};
  if (strategy.kind == StrategyKind::model_parallel || strategy.kind == StrategyKind::pipeline)
    return {1, workers, 1};
  if (strategy.kind != StrategyKind::hybrid) return {workers, 1, 1};
  const std::int64_t pipeline = std::max<std::int64_t>(1, strategy.mesh.pipeline),
                     tensor = std::max<std::int64_t>(1, strategy.mesh.tensor);
  const std::int64_t data = strategy.mesh.data > 0
                                ? strategy.mesh.data
                                : std::max<std::int64_t>(1, workers / (pipeline * tensor));
  return {static_cast<int>(data), static_cast<int>(pipeline), static_cast<int>(tensor)};
}

}  // namespace

Mesh mesh_of(const Experiment& experiment) {
  return mesh_of(experiment.strategy, static_cast<int>(count_workers(experiment.topology)),
                 static_cast<int>(count_servers(experiment.topology)));
}

Mesh mesh_of(const Resolved& resolved) {
  const int called = resolved.document.strategy.kind == StrategyKind::rpc
                         ? static_cast<int>(count_servers(resolved.document.topology))
                         : 0;
  return mesh_of(resolved.document.strategy, resolved.workers() - called, called);
}

int peer_in_chief_replica(const Resolved& resolved, int rank) {
  const Mesh mesh = mesh_of(resolved);
  MeshCoordinates at = mesh.place_of(rank);
  at.replica = mesh.place_of(resolved.chief).replica;
  return mesh.rank_of(at);
}

int share_of(const Resolved& resolved, int rank) {
  if (!splits_model(resolved.document.strategy.kind)) return rank;
  const Mesh mesh = mesh_of(resolved);
  const MeshCoordinates at = mesh.place_of(rank);
  return mesh.is_called(at) ? -1 : at.replica;
}

std::vector<std::vector<int>> summing_groups(const Experiment& experiment) {
  const Mesh mesh = mesh_of(experiment);
  const StrategySpec& strategy = experiment.strategy;
  const bool shards =
      strategy.kind == StrategyKind::hybrid && strategy.mesh.shards_data && mesh.data > 1;
  // If all layers are remote, trainers have no parameters, so no replicas sum gradients.
  const bool have_alike = !mesh.calls || strategy.rpc.remote == RemoteLayers::embeddings;
  std::vector<std::vector<int>> groups;
  for (int rank = 0; rank < mesh.ranks() && mesh.tensor > 1; rank += mesh.tensor)
    groups.push_back(mesh.tensor_group(rank));
  for (int stage = 0; stage < mesh.pipeline && have_alike; ++stage)
    for (int part = 0; part < mesh.tensor && mesh.replicas(stage) > 1; ++part)
      groups.push_back(mesh.replicas_of(mesh.rank_of({0, stage, part})));
  for (int stage = 0; stage < mesh.pipeline && shards && mesh.tensor > 1; ++stage)
    groups.push_back(mesh.stage(stage));
  for (std::vector<int>& group : tie_groups(experiment)) groups.push_back(std::move(group));
  if (experiment.training.needs_gradient_norm() && mesh.sums_norms(shards)) {
    std::vector<int>& everyone = groups.emplace_back(static_cast<std::size_t>(mesh.ranks()));
    std::iota(everyone.begin(), everyone.end(), 0);
  }
  return groups;
}

std::optional<std::string> mesh_line(const Resolved& resolved) {
  if (resolved.document.strategy.kind != StrategyKind::hybrid) return std::nullopt;
  const Mesh mesh = mesh_of(resolved);
  std::string text =
      fmt::format("{} x {} x {}: {}", format_count(mesh.data), format_count(mesh.pipeline),
                  format_count(mesh.tensor), base::counted(mesh.data, "replica"));
  if (mesh.pipeline > 1) text += fmt::format(" of {}", base::counted(mesh.pipeline, "stage"));
  if (mesh.tensor > 1)
    text += fmt::format("{} {} that share {} layers", mesh.pipeline > 1 ? ", each with" : " of",
                        base::counted(mesh.tensor, "device"), mesh.pipeline > 1 ? "its" : "the");
  if (resolved.document.strategy.mesh.shards_data && mesh.data == 1)
    text += "; strategy.mesh.shards_data has no effect with one replica";
  return text;
}

base::Problems mesh_problems(const Experiment& experiment) {
  if (experiment.strategy.kind != StrategyKind::hybrid) return {};
  const std::int64_t workers = count_workers(experiment.topology);
  const MeshSpec& mesh = experiment.strategy.mesh;
  base::Problems problems;
  // Skips an invalid drawing or invalid mesh sizes, which other checks report.
  if (workers == 0 || mesh.pipeline < 1 || mesh.tensor < 1) return problems;
  const std::int64_t replica = mesh.pipeline * mesh.tensor;
  if (workers % replica != 0 || (mesh.data > 0 && mesh.data != workers / replica))
    return {not_covered(mesh, workers)};
  if (const auto problem = apart(mesh_of(experiment), experiment.topology))
    problems.push_back(*problem);
  if (const auto problem = of_shards(experiment)) problems.push_back(*problem);
  if (const auto problem = of_each_micro_batch(experiment.strategy)) problems.push_back(*problem);
  return problems;
}

}  // namespace trainyard::experiment
