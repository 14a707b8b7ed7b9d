// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/unused_settings.h"

#include <fmt/core.h>

#include "core/experiment/fields.h"
#include "core/experiment/fsdp.h"
#include "core/experiment/mesh.h"
#include "core/experiment/rpc.h"
#include "core/experiment/stages.h"

namespace trainyard::experiment {
namespace {

template <class Value>
std::string unused_setting(const char* field, Value asked, const std::string& because) {
  return fmt::format("{}={} has no effect: {}", field, base::name_of(asked), because);
}

void add_schedule(const StrategySpec& strategy, std::vector<std::string>& notes) {
  const PipelineSchedule asked = strategy.stages.schedule;
  if (asked == schedule_of(strategy) || asked == StageSpec{}.schedule) return;
  const char* passed = strategy.kind == StrategyKind::hybrid ? "the only stage"
                       : strategy.kind == StrategyKind::rpc  ? "the servers that keep its layers"
                                                             : "all stages";
  notes.push_back(
      unused_setting("strategy.stages.schedule", asked,
                     fmt::format("micro-batches pass through {} one at a time", passed)));
}

// Ignores partitions by hand, because stage_problems.cpp checks them.
void add_partition(const Resolved& resolved, const Mesh& mesh, std::vector<std::string>& notes) {
  const StrategySpec& strategy = resolved.document.strategy;
  const Partition asked = strategy.stages.partition;
  const int places = mesh.calls ? mesh.pipeline - 1 : mesh.pipeline;
  if (asked == StageSpec{}.partition || asked == Partition::by_hand) return;
  if (places == 1)
    notes.push_back(
        unused_setting("strategy.stages.partition", asked,
                       mesh.calls ? "there is only one server" : "there is only one stage"));
  else if (mesh.calls && std::ssize(partitioned_segments(strategy, resolved.model)) == places)
    notes.push_back(
        unused_setting("strategy.stages.partition", asked,
                       "there are as many layers as servers, so each server has one layer"));
}

// strategy.rpc.output=reference has an effect only with several servers: it avoids sending a value
// from one server to another by way of the trainer.
void add_output(const Mesh& mesh, const RpcSpec& rpc, std::vector<std::string>& notes) {
  if (!mesh.calls || mesh.pipeline > 2 || rpc.output == RemoteOutput::value) return;
  notes.push_back(
      unused_setting("strategy.rpc.output", rpc.output,
                     "outputs of the only server return to the trainer that called it"));
}

}  // namespace

std::vector<std::string> unused_stage_settings(const Resolved& resolved) {
  const StrategySpec& strategy = resolved.document.strategy;
  std::vector<std::string> notes;
  if (!has_stages(strategy.kind)) return notes;
  const Mesh mesh = mesh_of(resolved);
  add_schedule(strategy, notes);
  add_partition(resolved, mesh, notes);
  add_output(mesh, strategy.rpc, notes);
  return notes;
}

std::optional<std::string> unused_shard_group(const Resolved& resolved) {
  const ShardGroup asked = resolved.document.strategy.fsdp.group;
  if (!shards(resolved) || asked == FsdpSpec{}.group || !same_shard_groups(resolved).empty())
    return std::nullopt;
  return unused_setting("strategy.fsdp.group", asked,
                        "all ranks that hold the same part of the model are on one host");
}

}  // namespace trainyard::experiment
