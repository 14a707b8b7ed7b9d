// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/fsdp.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "core/base/units.h"
#include "core/collective/algorithm.h"
#include "core/experiment/fields.h"
#include "core/experiment/mesh.h"
#include "core/experiment/placement.h"
#include "core/experiment/stages.h"

namespace trainyard::experiment {
namespace {

using base::format_count;
using base::Problem;
using base::ProblemCode;

Problem of_group(std::string what, std::string accepted, std::string advice) {
  return {"fsdp_group_not_even", ProblemCode::bad_input, "strategy.fsdp.group",
          std::move(what),       std::move(accepted),    std::move(advice)};
}

// Returns the groups of ranks that hold the same part of the model. There is one group per pipeline
// and tensor position of the mesh, or one group of all ranks if the model is not split.
std::vector<std::vector<int>> places(const Resolved& resolved) {
  std::vector<std::vector<int>> list;
  if (!splits_model(resolved.document.strategy.kind)) {
    std::vector<int>& all = list.emplace_back(static_cast<std::size_t>(resolved.world()));
    std::iota(all.begin(), all.end(), 0);
    return list;
  }
  const Mesh mesh = mesh_of(resolved);
  for (int stage = 0; stage < mesh.pipeline; ++stage)
    for (int part = 0; part < mesh.tensor; ++part)
      list.push_back(mesh.replicas_of(mesh.rank_of({0, stage, part})));
  return list;
}

}  // namespace

bool shards(const Resolved& resolved) {
  const StrategySpec& strategy = resolved.document.strategy;
  return (strategy.kind == StrategyKind::fsdp && resolved.world() > 1) ||
         (strategy.kind == StrategyKind::hybrid && strategy.mesh.shards_data &&
          mesh_of(resolved).data > 1);
}

bool shards_parameters(const Resolved& resolved) {
  return shards(resolved) && resolved.document.strategy.fsdp.shard == Shard::full;
}

bool has_partial_parameters(const Resolved& resolved) {
  return splits_model(resolved.document.strategy.kind) || shards_parameters(resolved);
}

std::vector<std::vector<int>> shard_groups_within(const Resolved& resolved,
                                                  const std::vector<int>& ranks) {
  const bool apart = resolved.document.strategy.fsdp.group == ShardGroup::host;
  std::map<int, std::vector<int>> by_host;
  for (const int rank : ranks)
    by_host[apart ? resolved.hosts[static_cast<std::size_t>(rank)] : 0].push_back(rank);
  std::vector<std::vector<int>> groups;
  groups.reserve(by_host.size());
  for (auto& [host, members] : by_host) groups.push_back(std::move(members));
  return groups;
}

std::vector<std::vector<int>> shard_groups(const Resolved& resolved) {
  std::vector<std::vector<int>> groups;
  for (const std::vector<int>& ranks : places(resolved))
    for (std::vector<int>& members : shard_groups_within(resolved, ranks))
      groups.push_back(std::move(members));
  return groups;
}

std::vector<std::vector<int>> same_shard_groups(const Resolved& resolved) {
  std::vector<std::vector<int>> groups;
  for (const std::vector<int>& ranks : places(resolved)) {
    const auto sharing = shard_groups_within(resolved, ranks);
    for (std::size_t part = 0; sharing.size() > 1 && part < sharing.front().size(); ++part) {
      std::vector<int>& alike = groups.emplace_back();
      for (const std::vector<int>& members : sharing) alike.push_back(members[part]);
    }
  }
  return groups;
}

namespace {

// Identifies a shard: its pipeline and tensor position in the mesh, and its index among the shards
// at this position.
using ShardPosition = std::pair<int, int>;

ShardPosition part_of(const Resolved& resolved, const std::vector<std::vector<int>>& groups,
                      int rank) {
  const Mesh mesh = mesh_of(resolved);
  const MeshCoordinates at = mesh.place_of(rank);
  const int place =
      splits_model(resolved.document.strategy.kind) ? at.stage * mesh.tensor + at.part : 0;
  if (!shards_parameters(resolved)) return {place, 0};
  const std::vector<int>& ranks = group_with(groups, rank);
  return {place,
          static_cast<int>(std::lower_bound(ranks.begin(), ranks.end(), rank) - ranks.begin())};
}

}  // namespace

std::vector<std::vector<int>> identical_parameter_groups(const Resolved& resolved) {
  const auto groups =
      shards_parameters(resolved) ? shard_groups(resolved) : std::vector<std::vector<int>>{};
  const topology::Network network(resolved.document.topology);
  std::map<std::pair<ShardPosition, bool>, std::vector<int>> by_part;
  for (int rank = 0; rank < resolved.world(); ++rank)
    by_part[{part_of(resolved, groups, rank),
             topology::is_on_gpu(network.device(resolved.ranks[static_cast<std::size_t>(rank)]))}]
        .push_back(rank);
  std::vector<std::vector<int>> alike;
  alike.reserve(by_part.size());
  for (auto& [part, ranks] : by_part) alike.push_back(std::move(ranks));
  return alike;
}

const std::vector<int>& group_with(const std::vector<std::vector<int>>& groups, int rank) {
  return *std::find_if(groups.begin(), groups.end(), [rank](const std::vector<int>& ranks) {
    return std::binary_search(ranks.begin(), ranks.end(), rank);
  });
}

std::vector<ElementRange> shards_of_rank(const Resolved& resolved, int rank) {
  const auto groups = shard_groups(resolved);
  const std::vector<int>& ranks = group_with(groups, rank);
  const auto position =
      static_cast<int>(std::lower_bound(ranks.begin(), ranks.end(), rank) - ranks.begin());
  std::vector<ElementRange> parts;
  for (const Bucket& unit : buckets(resolved)) {
    const auto [first, count] =
        collective::part(unit.count, static_cast<int>(ranks.size()), position);
    parts.push_back({unit.first + first, count});
  }
  return parts;
}

bool has_shared_table(const model::Model& model, const Bucket& unit) {
  return std::any_of(
      model.segments.begin(), model.segments.end(), [&](const model::Segment& segment) {
        return segment.tied_to >= unit.first_segment && segment.tied_to <= unit.last_segment;
      });
}

bool stays_gathered(const Resolved& resolved, const Bucket& unit) {
  return !resolved.document.strategy.fsdp.reshard_after_forward ||
         has_shared_table(resolved.model, unit);
}

bool accumulates_gradient(const Resolved& resolved, const Bucket& unit) {
  if (resolved.document.strategy.fsdp.shard == Shard::optimizer ||
      has_shared_table(resolved.model, unit))
    return true;
  const auto first = resolved.model.segments.begin();
  return schedule_of(resolved.document.strategy) == PipelineSchedule::zb_h1 &&
         std::any_of(first + unit.first_segment, first + unit.last_segment + 1,
                     [](const model::Segment& segment) {
                       return segment.kind == model::LayerKind::batch_norm;
                     });
}

std::vector<std::vector<int>> units_by_stage(const Resolved& resolved,
                                             const std::vector<Bucket>& units) {
  std::vector<std::vector<int>> list;
  const auto stages = model::stages_of(owners_by_segment(resolved));
  for (auto stage = stages.rbegin(); stage != stages.rend(); ++stage) {
    std::vector<int> own;
    for (std::size_t u = 0; u < units.size(); ++u)
      if (stage->has(units[u].last_segment)) own.push_back(static_cast<int>(u));
    if (!own.empty()) list.push_back(std::move(own));
  }
  return list;
}

HeldOutRounds held_out_rounds(const Resolved& resolved) {
  const std::int64_t batch = resolved.document.training.batch_per_rank,
                     all = resolved.data.held_out_samples;
  const std::int64_t consumers =
      splits_model(resolved.document.strategy.kind) ? mesh_of(resolved).data : resolved.world();
  std::int64_t least = all;
  for (int rank = 0; rank < resolved.world(); ++rank)
    least = std::min(least, resolved.held_out(rank).second);
  const std::int64_t whole = least / batch;
  return {whole, all > whole * batch * consumers};
}

std::optional<Problem> host_group_problem(const std::vector<int>& hosts) {
  std::map<int, std::int64_t> counts;
  for (const int host : hosts) ++counts[host];
  if (counts.size() < 2) return std::nullopt;
  const auto [least, most] =
      std::minmax_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; });
  if (least->second != most->second)
    return of_group(
        fmt::format(
            "hosts have {} to {} workers, but with strategy.fsdp.group=host all hosts need the "
            "same number, because the i-th workers of all hosts reduce their shards together",
            format_count(least->second), format_count(most->second)),
        "the same number of workers on every host",
        "Draw the same number of workers on each host, or set strategy.fsdp.group to world.");
  if (most->second > 1) return std::nullopt;
  return of_group(
      "every host has one worker, so each worker would keep the full model and nothing is sharded",
      "two workers or more on every host",
      "Set strategy.fsdp.group to world, or strategy.kind to ddp.");
}

base::Problems fsdp_problems(const Experiment& experiment) {
  if (experiment.strategy.kind != StrategyKind::fsdp) return {};
  base::Problems problems;
  if (experiment.strategy.fsdp.group == ShardGroup::host)
    if (const auto problem = host_group_problem(hosts_of_workers(experiment.topology)))
      problems.push_back(*problem);
  const collective::Algorithm algorithm = experiment.strategy.algorithm;
  if (algorithm != collective::Algorithm::ring && algorithm != collective::Algorithm::direct &&
      algorithm != collective::Algorithm::automatic)
    problems.push_back(
        {"algorithm_cannot_scatter", ProblemCode::bad_input, "strategy.algorithm",
         fmt::format("fsdp needs separate all-gathers and reduce-scatters, which {} does not have",
                     base::name_of(algorithm)),
         "ring, direct or auto", "Set strategy.algorithm to ring, direct or auto."});
  return problems;
}

}  // namespace trainyard::experiment
