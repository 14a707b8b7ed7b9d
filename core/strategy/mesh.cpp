// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/strategy/mesh.h"

#include "core/experiment/stages.h"
#include "core/model/split.h"
#include "core/strategy/mesh_step.h"
#include "core/strategy/order.h"
#include "core/strategy/program_size.h"
#include "core/strategy/replica.h"
#include "core/strategy/versions.h"

namespace trainyard::strategy {
namespace {

void add_lines(const MeshGroups& groups, MeshRank& rank, plan::RankPlan& plan) {
  const bool is_called = rank.mesh.is_called(rank.at);
  for (std::size_t w = 0; w < rank.split.ways.size(); ++w) {
    std::vector<Line>& lines = rank.ways.emplace_back();
    for (int replica = is_called ? 0 : rank.at.replica,
             end = is_called ? rank.mesh.data : replica + 1;
         replica < end; ++replica)
      lines.push_back(add_line(plan, groups.way(rank.at, static_cast<std::int32_t>(w), replica)));
  }
  rank.parts = add_line(plan, groups.parts(rank.rank));
  rank.replicas = add_line(plan, groups.replicas(rank.rank));
  rank.alike = add_line(plan, groups.alike(rank.rank));
  rank.ties = add_line(plan, groups.ties(rank.rank));
  rank.reports_parameters = groups.reports_parameters(rank.rank);
  const auto find_or_add_line = [&](std::int32_t group) {
    for (const Line& line : {rank.parts, rank.replicas})
      if (line.group == group) return line;
    return add_line(plan, group);
  };
  rank.statistics = find_or_add_line(groups.statistics(rank.rank));
  rank.norms = find_or_add_line(groups.norms());
}

// Marks the buffers that peers read in place as shared, except the gradients that ranks sum.
void share(const MeshRank& rank, const model::Model& model, const ReplicaBuffers& b,
           plan::RankPlan& plan) {
  const auto is_read = [&](const plan::Access& buffer) {
    if (buffer.buffer.valid()) plan.buffers[buffer.buffer.index()].shared = true;
  };
  for (int s = 0; s < static_cast<int>(model.segments.size()); ++s) {
    const model::Segment& segment = model.segments[static_cast<std::size_t>(s)];
    if (rank.sends(s, true) || (rank.owns(s) && model::sums_outputs(segment)))
      is_read(b.activations[static_cast<std::size_t>(s)]);
    if (rank.sends(s, false)) is_read(b.activation_gradients[static_cast<std::size_t>(s)]);
    if (s > 0 && rank.owns(s) && model::sums_input_gradient(segment))
      is_read(b.activation_gradients[static_cast<std::size_t>(s) - 1]);
  }
  if (rank.sends(model::kSamples, true)) is_read(b.input);
  if (rank.sends(model::kSampleNumbers, true)) is_read(b.sample_numbers);
  if (rank.shards) is_read(b.parameters);
  if (rank.statistics.group >= 0) is_read(b.statistics);
  if (rank.norms.group >= 0) is_read(b.reduced_norms);
}

plan::RankPlan rank_of(const experiment::Resolved& whole, const Split& split,
                       const MeshGroups& groups, std::int32_t number) {
  const experiment::Resolved e = experiment::of_rank(whole, number);
  plan::RankPlan plan{
      number,
      {{"input", plan::LaneKind::input, -1}, {"compute", plan::LaneKind::compute, -1}},
      {},
      {}};
  const experiment::Mesh mesh = experiment::mesh_of(whole);
  MeshRank rank{split, mesh, mesh.place_of(number), number,
                experiment::schedule_of(e.document.strategy)};
  add_lines(groups, rank, plan);
  const experiment::Recomputation recomputation = experiment::recomputation_of(whole, number);
  const Slots slots = make_slots(e, rank, recomputation);
  const bool reduces = rank.replicas.group >= 0, is_read = reduces || rank.ties.group >= 0;
  const std::vector<Bucket> buckets = reduces ? experiment::buckets(e) : std::vector<Bucket>{};
  if (experiment::shards(whole)) rank.shards = Shards{Units(e, number)};
  const Flat flat = rank.shards ? rank.shards->units.flat() : full_model(e);
  Replica parts{e,
                buckets,
                rank.replicas.group,
                false,
                add_buffers(e, is_read ? Shared::gradients : Shared::nothing, false, plan.buffers,
                            slots, flat),
                {},
                {}};
  parts.slots = slots_by_buffer(parts.buffers, slots, plan.buffers.size());
  parts.recomputation = recomputation;
  if (rank.shards)
    add_shard_buffers(*rank.shards, experiment::gradient_dtype(e), rank.alike.group >= 0, plan);
  share(rank, e.model, parts.buffers, plan);
  if (model::splits_classes(e.model) && rank.has_loss()) {
    const std::int64_t rows = e.document.training.batch_per_rank * e.model.labels();
    rank.summaries = add_buffer(plan, "summaries", base::DType::fp64,
                                model::kSoftmaxSummary * rows * mesh.tensor, true);
  }
  const auto reported = [&](std::int64_t samples) { return rank.reports_samples() ? samples : 0; };
  for (const ProgramSize& program : training_of(e, number))
    plan.programs.push_back({program.name, reported(program.samples), program.all, 1,
                             mesh_training(parts, rank, program)});
  for (const ProgramSize& program : evaluation_of(e, number))
    plan.programs.push_back({program.name, reported(program.samples), program.all, program.repeats,
                             mesh_evaluation(parts, rank, program)});
  if (rank.schedule == experiment::PipelineSchedule::pipedream) keep_versions(plan);
  drop_unused_buffers(plan);
  order_by_data(plan);
  return plan;
}

}  // namespace

base::Result<plan::Plan> mesh_plan(const experiment::Resolved& experiment) {
  const Split split(experiment);
  const MeshGroups groups(experiment, split);
  return plan::Plan{experiment.world(), groups.list(), schedule(experiment),
                    [experiment, split, groups](std::int32_t rank) {
                      return rank_of(experiment, split, groups, rank);
                    }};
}

}  // namespace trainyard::strategy
