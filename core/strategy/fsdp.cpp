// SPDX-License-Identifier: GPL-3.0-or-later
// FSDP: replicas that keep only their shard between steps. Units are gathered and scattered
// (unit_ops.h), and each rank updates its shard. Dependencies are derived from data accesses
// (order.h).
#include <algorithm>

#include "core/experiment/sync_batch_norm.h"
#include "core/strategy/order.h"
#include "core/strategy/program_size.h"
#include "core/strategy/replica.h"
#include "core/strategy/strategy.h"
#include "core/strategy/unit_ops.h"

namespace trainyard::strategy {
namespace {

struct ShardRank : Shards {
  // lanes and groups of this rank: with the ranks that shard a model, with the ranks that hold the
  // same shard, and with the ranks that sum batch norm statistics
  Line shards, replicas, world_group;
};

class ShardWriter : private UnitOps {
 public:
  ShardWriter(const Replica& replica, const ShardRank& shards,
              const std::vector<std::int64_t>& micro_batches)
      : UnitOps(replica, &shards, shards.shards, micro_batches), s_(shards) {}

  std::vector<Op> train() {
    add(rate());
    for (micro_ = 0; micro_ < std::ssize(taken_); ++micro_) micro_step();
    micro_ = -1;
    keep_shards();
    if (s_.replicas.lane.valid()) sum_shards(s_.replicas);
    if (clips()) add_clip();
    update_own_parts();
    if (!units().gathers) gather_updated();
    collective(OpKind::all_reduce, s_.shards, unit_number(UnitWay::norms, 1), b_.statistics);
    return std::move(ops_);
  }

  std::vector<Op> evaluate() {
    trains_ = false;
    samples_ = samples_of(0);
    if (samples_ > 0) add(load());
    go_forward();
    if (samples_ > 0) add(loss());
    return std::move(ops_);
  }

 private:
  void micro_step() {
    samples_ = samples_of(micro_);
    if (samples_ > 0 || micro_ == 0)
      add(load());  // a rank loads samples once in every step, even if there are none
    go_forward();
    if (samples_ > 0) add(loss());
    begin_pass(UnitPass::backward, 0, last());
    for (int s = last(); s >= 0; --s) {
      gather_for(s);
      free_gradient_slot(s);
      samples_ > 0 ? go_backward(s) : go_backward_without_samples(s);
      sum_gradient(s);
    }
  }

  void go_forward() {
    begin_pass(UnitPass::forward, 0, last());
    for (int s = 0; s <= last(); ++s) {
      gather_for(s);
      if (samples_ > 0 || synchronizes(s)) go_forward(s);
    }
  }

  void go_forward(int s) {
    if (synchronizes(s)) {
      add(statistics(s));
      collective(OpKind::all_reduce, s_.world_group, number_of_sums(s), sums(s));
    }
    add(forward(s));
  }

  void go_backward(int s) {
    add_recomputation(s, [&](Op op) { add(std::move(op)); });
    const bool weight_first = is(s, Kind::batch_norm);
    if (weight_first) add_weight(s);
    if (weight_first && sums_gradients(s)) sum_gradient_sums(s);
    if (weight_first ? s > first() : needs_backward_input(s)) add(backward_input(s));
    if (!weight_first) add_weight(s);
  }

  // Adds the backward pass of a micro-step without samples: it sets gradients to zero, and
  // contributes zeros to sums over all ranks.
  void go_backward_without_samples(int s) {
    Op op = zero_gradient(s);
    if (s == last() && micro_ == 0) op.writes.push_back(b_.metrics);
    if (sums_gradients(s)) op.writes.push_back(of(b_.gradient_sums, s));
    if (!op.writes.empty()) add(std::move(op));
    if (sums_gradients(s)) sum_gradient_sums(s);
  }

  void sum_gradient_sums(int s) {
    collective(OpKind::all_reduce, s_.world_group, number_of_sums(s) + 1, of(b_.gradient_sums, s));
  }

  void add_weight(int s) {
    if (!computes_by_parameters(s)) return;
    add(backward_weight(s, leaves_norms() && is_last_with_samples()));
    if (adds_to_tied(s) || (micro_ > 0 && accumulates_gradient(s))) with_sum(ops_.back());
  }

  // Ops that run once per step, such as updates

  void add_clip() {
    add(zero(b_.reduced_norms));
    for_each_shard([&](const Unit& unit, int s) { add(norm_of_part(unit, s)); });
    collective(OpKind::all_reduce, s_.shards, unit_number(UnitWay::norms, 0), b_.reduced_norms);
    add(clip());
  }

  void update_own_parts() {
    add(zero(b_.statistics));
    for_each_shard([&](const Unit& unit, int s) { add(update_of_part(unit, s)); });
  }

  const ShardRank& s_;
};

// Adds the programs of a rank. All ranks take part in every collective, with or without samples.
void add_programs(const experiment::Resolved& e, const Replica& parts, const ShardRank& shards,
                  plan::RankPlan& plan) {
  const auto empty_program = [](const ProgramSize& program) {
    return plan::Program{program.name, program.samples, program.all, program.repeats, {}};
  };
  for (const ProgramSize& program : training_of(e, plan.rank)) {
    plan.programs.push_back(empty_program(program));
    plan.programs.back().ops = ShardWriter(parts, shards, program.micro_batches).train();
  }
  for (const ProgramSize& program : evaluation_of(e, plan.rank)) {
    plan.programs.push_back(empty_program(program));
    plan.programs.back().ops = ShardWriter(parts, shards, program.micro_batches).evaluate();
  }
}

// Returns the groups in order of their numbers: first the ranks that shard a model, then the ranks
// with the same shard, then all ranks if batch norm statistics are summed.
struct Groups {
  explicit Groups(const experiment::Resolved& e) : shards(experiment::shard_groups(e)) {
    for (const auto& ranks : shards) list.push_back({{ranks.begin(), ranks.end()}});
    for (const auto& ranks : experiment::same_shard_groups(e))
      list.push_back({{ranks.begin(), ranks.end()}});
    if (experiment::synchronizes(e)) list.push_back(world_group(e));
  }

  // Returns the index of the first group that contains the rank, starting the search at group
  // `first`.
  std::int32_t with(std::int32_t rank, std::size_t first) const {
    const auto at =
        std::find_if(list.begin() + static_cast<std::ptrdiff_t>(first), list.end(),
                     [rank](const plan::Group& group) { return group.position(rank) >= 0; });
    return at == list.end() ? -1 : static_cast<std::int32_t>(at - list.begin());
  }

  std::vector<std::vector<int>> shards;
  std::vector<plan::Group> list;
};

plan::RankPlan rank_of(const experiment::Resolved& e, const Groups& groups, std::int32_t rank) {
  plan::RankPlan plan{
      rank,
      {{"input", plan::LaneKind::input, -1}, {"compute", plan::LaneKind::compute, -1}},
      {},
      {}};
  const bool synchronizes = experiment::synchronizes(e), replicates = groups.shards.size() > 1;
  ShardRank shards{{Units(e, rank)}, {}, {}, {}};
  shards.shards = add_line(plan, groups.with(rank, 0));
  if (replicates) shards.replicas = add_line(plan, groups.with(rank, groups.shards.size()));
  if (synchronizes)
    shards.world_group = add_line(plan, static_cast<std::int32_t>(groups.list.size()) - 1);
  const std::vector<Bucket> none;
  Replica parts{
      e,
      none,
      -1,
      false,
      add_buffers(e, Shared::nothing, synchronizes, plan.buffers, {}, shards.units.flat()),
      {},
      {}};
  parts.recomputation = experiment::recomputation_of(e, rank);
  if (synchronizes)
    parts.statistics =
        summed_statistics(e.model, shards.world_group.group, 5 * shards.units.count() + 1);
  add_shard_buffers(shards, experiment::gradient_dtype(e), replicates, plan);
  for (const plan::Access& read : {parts.buffers.parameters, parts.buffers.gradients,
                                   parts.buffers.statistics, parts.buffers.reduced_norms})
    if (read.buffer.valid()) plan.buffers[read.buffer.index()].shared = true;
  add_programs(e, parts, shards, plan);
  drop_unused_buffers(plan);
  order_by_data(plan);
  return plan;
}

}  // namespace

base::Result<plan::Plan> fsdp(const experiment::Resolved& experiment) {
  if (experiment.world() < 2) return mirrored(experiment);  // a single rank has nothing to shard
  const Groups groups(experiment);
  return plan::Plan{
      experiment.world(), groups.list, schedule(experiment),
      [experiment, groups](std::int32_t rank) { return rank_of(experiment, groups, rank); }};
}

}  // namespace trainyard::strategy
