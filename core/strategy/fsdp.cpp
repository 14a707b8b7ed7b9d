// SPDX-License-Identifier: GPL-3.0-or-later
// Replicas that keep but their part of the model between steps. Parameters of a unit are gathered before its passes, where a rank has but its part of them;
// gradients are reduce-scattered once a unit's backward pass is over, and added to what earlier micro-steps left of the rank's part; each rank updates that.
// What waits for what follows from the data.
#include <algorithm>
#include <deque>

#include "core/experiment/synchronised.h"
#include "core/strategy/line.h"
#include "core/strategy/order.h"
#include "core/strategy/own_parameters.h"
#include "core/strategy/own_part_ops.h"
#include "core/strategy/replica.h"
#include "core/strategy/strategy.h"

namespace trainyard::strategy {
namespace {

struct ShardRank : Shards {
  Line shards, replicas, everyone;  // among whom a model is shared out; who have the same part; who sum batch normalisations
};

struct SamplesOfRank {
  std::int64_t own = 0, most = 0;  // of a step: the rank's, and those of who has most
};

class ShardWriter : private OwnPartOps {
 public:
  ShardWriter(const Replica& replica, const ShardRank& shards, const SamplesOfRank& samples)
      : OwnPartOps(replica, &shards), s_(shards), units_(shards.units), batch_(replica.resolved.document.training.batch_per_rank), of_step_(samples) {
    moved_parameters_.resize(model_.segments.size());
    moved_gradients_.resize(model_.segments.size());
    for (std::int32_t u = 0; u < units_.count(); ++u) {
      move(units_.at(u), units_.parameters.first(u, 0), moved_parameters_);
      move(units_.at(u), units_.gradients.first(u, 0), moved_gradients_);
    }
    last_own_micro_ = static_cast<std::int32_t>(std::max<std::int64_t>(of_step_.own - 1, 0) / batch_);
    last_micro_ = static_cast<std::int32_t>((of_step_.most - 1) / batch_);
  }

  std::vector<Op> train() {
    ops_.push_back(rate());
    for (micro_ = 0; micro_ <= last_micro_; ++micro_) micro_step();
    micro_ = -1;
    if (s_.replicas.lane.valid()) sum_over_replicas();
    if (clips()) add_clip();
    update_own_parts();
    if (!units_.gathers)
      for (std::int32_t u = units_.count() - 1; u >= 0; --u) collective(OpKind::all_gather, s_.shards, number_of(Way::forward, u), parameters_of(u));
    collective(OpKind::all_reduce, s_.shards, number_of(Way::norms, 1), b_.statistics);
    return std::move(ops_);
  }

  std::vector<Op> evaluate() {
    trains_ = false;
    samples_ = of_step_.own;
    if (samples_ > 0) ops_.push_back(load());
    go_forward();
    if (samples_ > 0) ops_.push_back(loss());
    return std::move(ops_);
  }

 private:
  // Each unit has a collective each way.
  enum class Way { forward, backward, gradients, replicas, norms };
  std::int32_t number_of(Way way, std::int32_t unit) const { return static_cast<std::int32_t>(way) * units_.count() + unit; }

  void micro_step() {
    samples_ = std::clamp<std::int64_t>(of_step_.own - micro_ * batch_, 0, batch_);
    turn_ = gradient_turn_ = 0;                               // so that a collective has one place at every micro-step
    if (samples_ > 0 || micro_ == 0) ops_.push_back(load());  // of every step the rank takes its samples, though there be none
    go_forward();
    if (samples_ > 0) ops_.push_back(loss());
    ahead_ = 0;
    for (std::int32_t u = 0; u < units_.count(); ++u) {
      gather_until(u + 1 + units_.prefetch, Way::backward);
      take_place_of_gradients(u);
      for (int s = units_.at(u).bucket.last_segment; s >= units_.at(u).bucket.first_segment; --s) samples_ > 0 ? go_back(s) : go_back_without(s);
      if (units_.scatters || micro_ == last_micro_) collective(OpKind::reduce_scatter, s_.shards, number_of(Way::gradients, u), gradients_of(u));
      if (units_.scatters) summed_.push_back(u);
    }
    while (!summed_.empty()) keep_own_part();
  }

  void go_forward() {
    ahead_ = 0;
    for (std::int32_t i = 0; i < units_.count(); ++i) {
      const Bucket& unit = units_.at(units_.count() - 1 - i).bucket;
      gather_until(i + 1 + units_.prefetch, Way::forward);
      for (int s = unit.first_segment; s <= unit.last_segment; ++s)
        if (samples_ > 0 || synchronises(s)) go_forward(s);
    }
  }

  void go_forward(int s) {
    if (synchronises(s)) {
      ops_.push_back(statistics(s));
      collective(OpKind::all_reduce, s_.everyone, number_of_sums(s), sums(s));
    }
    ops_.push_back(forward(s));
  }

  void go_back(int s) {
    make_again(s, [&](Op op) { ops_.push_back(std::move(op)); });
    const bool weight_first = is(s, Kind::batch_norm);
    if (weight_first) add_weight(s);
    if (weight_first && sums_gradients(s)) sum_gradient_sums(s);
    if (weight_first ? s > first() : passes_back(s)) ops_.push_back(backward_input(s));
    if (!weight_first) add_weight(s);
  }

  // Gradients of zero, and nothing added to what all sum.
  void go_back_without(int s) {
    Op op = op_of(OpKind::zero, s);
    if (has_parameters(s) && (units_.scatters || micro_ == 0)) {
      op.writes.push_back(segment_of(b_.gradients, s));
      if (leaves_norms()) op.writes.push_back({b_.local_norms.buffer, s, 1});
    }
    if (s == last() && micro_ == 0) op.writes.push_back(b_.metrics);
    if (sums_gradients(s)) op.writes.push_back(of(b_.gradient_sums, s));
    if (!op.writes.empty()) ops_.push_back(std::move(op));
    if (sums_gradients(s)) sum_gradient_sums(s);
  }

  void sum_gradient_sums(int s) { collective(OpKind::all_reduce, s_.everyone, number_of_sums(s) + 1, of(b_.gradient_sums, s)); }

  // The rank's own gradient of a step is nowhere whole where every micro-step's is summed by itself.
  bool leaves_norms() const { return !units_.scatters || last_micro_ == 0; }

  void add_weight(int s) {
    if (!computes_by_parameters(s)) return;
    ops_.push_back(backward_weight(s, leaves_norms() && micro_ == last_own_micro_));
    if (adds_to_tied(s) || (micro_ > 0 && !units_.scatters)) with_sum(ops_.back());
  }

  // Parameters come and go -----------------------------------------------------------------------------------------------

  // So many units in the order of the pass, as far as they are not there.
  void gather_until(std::int32_t end, Way way) {
    for (; units_.gathers && ahead_ < std::min(end, units_.count()); ++ahead_) {
      const std::int32_t u = way == Way::forward ? units_.count() - 1 - ahead_ : ahead_;
      const bool is_there = units_.parameters.stays(u) && (way == Way::backward || micro_ > 0);
      if (!is_there) gather(u, way);
    }
  }

  void gather(std::int32_t u, Way way) {
    const Unit& unit = units_.at(u);
    if (!units_.parameters.stays(u)) move(unit, units_.parameters.first(u, turn_++), moved_parameters_);
    const Access whole = parameters_of(u);
    if (unit.own.count > 0) {
      Op copy = mix({own_in(s_.parameters, unit)}, {1}, 1, own_in_whole(whole, unit));
      copy.bucket = number_of(way, u);
      ops_.push_back(std::move(copy));
    }
    collective(OpKind::all_gather, s_.shards, number_of(way, u), whole);
  }

  void take_place_of_gradients(std::int32_t u) {
    if (!units_.scatters || units_.gradients.stays(u)) return;
    if (std::ssize(summed_) >= units_.gradients.shared()) keep_own_part();
    move(units_.at(u), units_.gradients.first(u, gradient_turn_++), moved_gradients_);
  }

  static void move(const Unit& unit, std::int64_t first, std::vector<std::int64_t>& moved) {
    for (int s = unit.bucket.first_segment; s <= unit.bucket.last_segment; ++s) moved[static_cast<std::size_t>(s)] = first - unit.bucket.first;
  }

  Access parameters_of(std::int32_t u) const { return moved(b_.parameters, u, moved_parameters_); }
  Access gradients_of(std::int32_t u) const { return moved(b_.gradients, u, moved_gradients_); }
  Access moved(const Access& flat, std::int32_t u, const std::vector<std::int64_t>& by) const {
    const Bucket& unit = units_.at(u).bucket;
    return {flat.buffer, unit.first + by[static_cast<std::size_t>(unit.first_segment)], unit.count};
  }

  // Of the oldest sum its own part, which the first micro-step puts where later ones add theirs.
  void keep_own_part() {
    const std::int32_t u = summed_.front();
    summed_.pop_front();
    if (units_.at(u).own.count == 0) return;
    const Access part = own_in_whole(gradients_of(u), units_.at(u)), own = own_in(s_.gradients, units_.at(u));
    ops_.push_back(micro_ == 0 ? mix({part}, {1}, 1, own) : mix({own, part}, {1, 1}, 1, own));
    ops_.back().bucket = number_of(Way::gradients, u);
  }

  // Once a step --------------------------------------------------------------------------------------------------------

  void sum_over_replicas() {
    for (std::int32_t u = units_.count() - 1; u >= 0; --u)
      if (units_.at(u).own.count > 0) collective(OpKind::all_reduce, s_.replicas, number_of(Way::replicas, u), own_gradient(units_.at(u)));
  }

  void add_clip() {
    ops_.push_back(zero(b_.reduced_norms));
    for_each_own_part([&](const Unit& unit, int s) { ops_.push_back(norm_of_part(unit, s)); });
    collective(OpKind::all_reduce, s_.shards, number_of(Way::norms, 0), b_.reduced_norms);
    ops_.push_back(clip());
  }

  void update_own_parts() {
    ops_.push_back(zero(b_.statistics));
    for_each_own_part([&](const Unit& unit, int s) { ops_.push_back(update_of_part(unit, s)); });
  }

  void collective(OpKind kind, const Line& line, std::int32_t number, const Access& whole) { ops_.push_back(collective_op(kind, line, number, whole)); }

  const ShardRank& s_;
  const Units& units_;
  std::int64_t batch_;
  SamplesOfRank of_step_;
  std::int32_t last_micro_ = 0, last_own_micro_ = 0;  // of all ranks, and of this one
  std::vector<Op> ops_;
  std::int32_t turn_ = 0, gradient_turn_ = 0;  // of units that take turns, in a micro-step
  std::int32_t ahead_ = 0;                     // units gathered in this pass
  std::deque<std::int32_t> summed_;            // units of whose sums the rank has not kept its part yet
};

// The programs of a rank. All take part in every collective, whether they have samples or not.
void add_programs(const experiment::Resolved& e, const Replica& parts, const ShardRank& shards, plan::RankPlan& plan) {
  const data::Shares shares = e.shares();
  for (const data::Stretch& stretch : shares.stretches()) {
    const std::string name = plan.programs.empty() ? "train" : plan::Schedule::tail_name(plan.programs.size() - 1);
    const SamplesOfRank samples{shares.samples(stretch.first_step, plan.rank), experiment::most_samples(shares, stretch.first_step)};
    plan.programs.push_back({name, samples.own, shares.global_samples(stretch.first_step), 1, ShardWriter(parts, shards, samples).train()});
  }
  const std::int64_t batch = e.document.training.batch_per_rank, held_out = e.data.held_out_samples;
  const experiment::HeldOutRounds rounds = experiment::held_out_rounds(e);
  const std::int64_t rest = e.held_out(plan.rank).second - rounds.whole * batch;
  if (rounds.whole > 0) plan.programs.push_back({"evaluate", batch, held_out, rounds.whole, ShardWriter(parts, shards, {batch, batch}).evaluate()});
  if (rounds.rest) plan.programs.push_back({"evaluate_tail", rest, held_out, 1, ShardWriter(parts, shards, {rest, batch}).evaluate()});
}

// Groups of those who share out a model, then of those who have the same part of it, then of everybody where batch normalisations are summed.
struct Groups {
  explicit Groups(const experiment::Resolved& e) : shards(experiment::shard_groups(e)) {
    for (const auto& ranks : shards) list.push_back({{ranks.begin(), ranks.end()}});
    for (std::size_t p = 0; shards.size() > 1 && p < shards.front().size(); ++p) {
      plan::Group& same = list.emplace_back();
      for (const auto& ranks : shards) same.ranks.push_back(ranks[p]);
    }
    if (experiment::synchronises(e)) list.push_back(everyone(e));
  }

  // Of a rank, the first from `first` on that it is in.
  std::int32_t with(std::int32_t rank, std::size_t first) const {
    const auto at =
        std::find_if(list.begin() + static_cast<std::ptrdiff_t>(first), list.end(), [rank](const plan::Group& group) { return group.position(rank) >= 0; });
    return at == list.end() ? -1 : static_cast<std::int32_t>(at - list.begin());
  }

  std::vector<std::vector<int>> shards;
  std::vector<plan::Group> list;
};

plan::RankPlan rank_of(const experiment::Resolved& e, const Groups& groups, std::int32_t rank) {
  plan::RankPlan plan{rank, {{"input", plan::LaneKind::input, -1}, {"compute", plan::LaneKind::compute, -1}}, {}, {}};
  const bool synchronises = experiment::synchronises(e), replicates = groups.shards.size() > 1;
  ShardRank shards{{Units(e, rank)}, {}, {}, {}};
  shards.shards = add_line(plan, groups.with(rank, 0));
  if (replicates) shards.replicas = add_line(plan, groups.with(rank, groups.shards.size()));
  if (synchronises) shards.everyone = add_line(plan, static_cast<std::int32_t>(groups.list.size()) - 1);
  const std::vector<Bucket> none;
  Replica parts{e, none, -1, false, add_buffers(e, Shared::nothing, synchronises, plan.buffers, {}, shards.units.flat()), {}, {}};
  parts.recomputation = experiment::recomputation_of(e, rank);
  if (synchronises) parts.statistics = summed_statistics(e.model, shards.everyone.group, 5 * shards.units.count() + 1);
  const base::DType dtype = experiment::gradient_dtype(e);
  if (shards.units.gathers) shards.parameters = add_buffer(plan, "shard", dtype, shards.units.own);
  if (shards.units.scatters) shards.gradients = add_buffer(plan, "grad_shard", dtype, shards.units.own, replicates);
  for (const plan::Access& read : {parts.buffers.parameters, parts.buffers.gradients, parts.buffers.statistics, parts.buffers.reduced_norms})
    if (read.buffer.valid()) plan.buffers[read.buffer.index()].shared = true;
  add_programs(e, parts, shards, plan);
  drop_unused_buffers(plan);
  order_by_data(plan);
  return plan;
}

}  // namespace

base::Result<plan::Plan> fsdp(const experiment::Resolved& experiment) {
  if (experiment.world() < 2) return mirrored(experiment);  // nothing to share out
  const Groups groups(experiment);
  return plan::Plan{experiment.world(), groups.list, schedule(experiment),
                    [experiment, groups](std::int32_t rank) { return rank_of(experiment, groups, rank); }};
}

}  // namespace trainyard::strategy
