// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/strategy/replica.h"

#include <algorithm>
#include <numeric>

#include "core/experiment/compression.h"
#include "core/experiment/sync_batch_norm.h"
#include "core/experiment/vertical.h"
#include "core/strategy/compression.h"
#include "core/strategy/edit.h"
#include "core/strategy/replica_buffers.h"
#include "core/strategy/replica_step.h"
#include "core/strategy/vertical.h"

namespace trainyard::strategy {

int moments(const experiment::OptimizerSpec& optimizer) {
  if (optimizer.kind != experiment::OptimizerKind::sgd) return 2;
  return optimizer.momentum > 0 ? 1 : 0;
}

namespace {

std::int32_t count_sums(const SummedStatistics& statistics) {
  return static_cast<std::int32_t>(
      2 * std::count_if(statistics.numbers.begin(), statistics.numbers.end(),
                        [](std::int32_t number) { return number >= 0; }));
}

std::int32_t count_collectives(const Replica& parts) {
  std::size_t count = parts.buckets.size();
  for (const auto& of_bucket : parts.compression.encoded) count += of_bucket.size() - 1;
  return static_cast<std::int32_t>(count);
}

// Adds a training program for each batch size that occurs in an epoch.
void add_training(const experiment::Resolved& e, const Replica& parts, plan::RankPlan& plan) {
  const data::Shares shares = e.shares();
  const auto stretches = shares.stretches();
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    const std::int64_t step = stretches[i].first_step;
    SamplesOfStep samples{shares.samples(step, plan.rank), experiment::max_samples(shares, step)};
    if (parts.shards_columns())
      samples.rows = rows_of_rank(experiment::rows_of_micro_steps(e, step), plan.rank, e.world());
    plan.programs.push_back({i == 0 ? "train" : plan::Schedule::tail_name(i - 1), samples.own,
                             shares.global_samples(step), 1, train(parts, samples)});
  }
}

void add_evaluation(const experiment::Resolved& e, const Replica& parts, plan::RankPlan& plan) {
  const auto add_program = [&](std::string name, std::int64_t repeats,
                               const SamplesOfStep& samples) {
    plan.programs.push_back(
        {std::move(name), samples.own, e.data.held_out_samples, repeats, evaluate(parts, samples)});
  };
  const std::int64_t batch = e.document.training.batch_per_rank,
                     held_out = e.held_out(plan.rank).second;
  if (!parts.shards_columns()) {
    if (held_out >= batch) add_program("evaluate", held_out / batch, {batch, batch});
    if (held_out % batch > 0) add_program("evaluate_tail", 1, {held_out % batch, held_out % batch});
    return;
  }
  // If ranks compute a layer together (vertical sharding), all ranks take part in every evaluation
  // round as long as any rank has samples. All rounds but the last are equal.
  const auto rounds = rows_of_rank(experiment::rows_of_evaluation(e), plan.rank, e.world());
  const auto whole = std::count_if(rounds.begin(), rounds.end(), [&](const MicroRows& rows) {
    return rows.all == batch * e.world();
  });
  if (whole > 0) add_program("evaluate", whole, {batch, batch, {rounds.front()}});
  if (whole < std::ssize(rounds))
    add_program("evaluate_tail", 1, {rounds.back().own, batch, {rounds.back()}});
}

}  // namespace

SummedStatistics summed_statistics(const model::Model& model, std::int32_t group,
                                   std::int32_t first) {
  SummedStatistics statistics{group, {}};
  for (const model::Segment& segment : model.segments) {
    statistics.numbers.push_back(segment.synchronized ? first : -1);
    if (segment.synchronized) first += 2;
  }
  return statistics;
}

plan::RankPlan replica(const experiment::Resolved& e, std::int32_t rank,
                       const std::vector<Bucket>& buckets, std::int32_t group) {
  plan::RankPlan plan{
      rank,
      {{"input", plan::LaneKind::input, -1}, {"compute", plan::LaneKind::compute, -1}},
      {},
      {}};
  const auto add_lane = [&](std::int32_t of) {
    plan.lanes.push_back({"comm.g" + std::to_string(of), plan::LaneKind::comm, of});
  };
  const bool synchronizes = group >= 0 && experiment::synchronizes(e);
  if (group >= 0) add_lane(group);
  if (synchronizes) add_lane(group + 1);
  const bool averages_weights = group >= 0 && experiment::averages_weights(e.document.strategy);
  // with compression, peers read encoded data and never the gradients
  const bool compressed = group >= 0 && experiment::compresses(e);
  const Shared shared = group < 0 || compressed ? Shared::nothing
                        : averages_weights      ? Shared::parameters
                                                : Shared::gradients;
  Replica parts{
      e,  buckets, group, averages_weights, add_buffers(e, shared, synchronizes, plan.buffers),
      {}, {}};
  parts.recomputation = experiment::recomputation_of(e, rank);
  if (compressed) parts.compression = compression_buffers(e, rank, buckets, plan.buffers);
  const std::int32_t sums = count_collectives(parts);
  if (synchronizes) parts.statistics = summed_statistics(e.model, group + 1, sums);
  if (group >= 0 && experiment::shards_columns(e))
    parts.shared_columns =
        share_columns(e, rank, group + (synchronizes ? 2 : 1), sums + count_sums(parts.statistics),
                      parts.buffers.input, plan);
  add_training(e, parts, plan);
  order_loads(plan);
  add_evaluation(e, parts, plan);
  return plan;
}

void order_loads(plan::RankPlan& rank) {
  const auto waits = [](const plan::Program& program) {
    return is_training(program) && !program.ops.empty() &&
           program.ops.front().kind == plan::OpKind::load &&
           (program.samples > 0 || program.ops.front().columns.any());
  };
  std::int32_t longest = 0;
  for (const plan::Program& program : rank.programs)
    if (waits(program)) longest = std::max(longest, program.ops.front().after.front().sequence);
  for (plan::Program& program : rank.programs)
    if (waits(program)) program.ops.front().after.front().sequence = longest;
}

plan::Group world_group(const experiment::Resolved& e) {
  plan::Group group;
  group.ranks.resize(static_cast<std::size_t>(e.world()));
  std::iota(group.ranks.begin(), group.ranks.end(), 0);
  return group;
}

bool is_training(const plan::Program& program) {
  return plan::purpose(program.name) == plan::Purpose::training;
}

plan::RankPlan evaluator(const experiment::Resolved& e, std::int32_t rank) {
  experiment::Resolved alone = experiment::on_one_device(e);
  // same batch as workers
  alone.document.training.batch_per_rank = e.document.training.batch_per_rank;
  plan::RankPlan plan = replica(alone, 0, {}, -1);
  plan.rank = rank;
  std::erase_if(plan.programs, is_training);
  drop_unused_buffers(plan);
  return plan;
}

plan::Schedule schedule(const experiment::Resolved& e) {
  const auto stretches = e.shares().stretches();
  const bool evaluates = e.data.held_out_samples > 0 && e.evaluators == 0;
  plan::Schedule schedule{
      e.steps, stretches.front().steps, {}, evaluates ? e.document.run.evaluate_every_steps : 0};
  for (std::size_t i = 1; i < stretches.size(); ++i) schedule.tails.push_back(stretches[i].steps);
  return schedule;
}

}  // namespace trainyard::strategy
