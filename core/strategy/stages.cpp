// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks that have but some layers each. A rank takes its cells in the order of the schedule (experiment/cells.h). Forward it receives what its stage computes
// by, computes, and hands on what later stages compute by; back it receives the gradients at its outputs, adds its part to those of others, and hands them on
// the way that the outputs came. What waits for what follows from the data. Of pipedream a stage updates after every backward cell (versions.h).
#include "core/strategy/stages.h"

#include <algorithm>
#include <string>

#include "core/experiment/cells.h"
#include "core/experiment/stages.h"
#include "core/strategy/edit.h"
#include "core/strategy/hops.h"
#include "core/strategy/order.h"
#include "core/strategy/replica.h"
#include "core/strategy/replica_buffers.h"
#include "core/strategy/replica_ops.h"
#include "core/strategy/same_samples.h"
#include "core/strategy/versions.h"

namespace trainyard::strategy {
namespace {

using experiment::Cell;
using experiment::Pass;
using plan::LaneId;

// What one rank does, in any program.
struct StageRank {
  const Split& split;
  std::int32_t rank;
  experiment::PipelineSchedule schedule;
  std::vector<LaneId> lanes = {};  // by group; invalid where it is no member
  LaneId norms = {};               // of the group of everybody; invalid where nothing is clipped

  std::vector<Cell> cells(std::int32_t micro_batches) const { return experiment::cells_of(schedule, split.ranks(), rank, micro_batches); }
  bool owns(int segment) const { return split.owners[static_cast<std::size_t>(segment)] == rank; }
  const model::Stage& stage(int number) const { return split.stages[static_cast<std::size_t>(number)]; }
};

class StageWriter : private ReplicaOps {
 public:
  StageWriter(const Replica& replica, const StageRank& stages, std::int64_t samples) : ReplicaOps(replica), s_(stages), all_(samples) {}

  std::vector<Op> train() {
    const std::vector<Cell> cells = s_.cells(micro_batches_of(r_.resolved, all_));
    separate_ = std::any_of(cells.begin(), cells.end(), [](const Cell& cell) { return cell.pass == Pass::backward_weight; });
    ops_.push_back(rate());
    for (const Cell& cell : cells) {
      add(cell);
      if (updates_each() && cell.pass == Pass::backward) add_updates(micro_);
    }
    if (clips()) add_clip();
    if (!updates_each()) add_updates(-1);
    return std::move(ops_);
  }

  std::vector<Op> evaluate() {
    trains_ = false;
    for (std::size_t k = 0; k < s_.split.stages.size(); ++k)
      if (s_.split.stages[k].rank == s_.rank) add({Pass::forward, static_cast<int>(k), 0});
    if (s_.owns(last())) ops_.push_back(loss());
    return std::move(ops_);
  }

 private:
  void add(const Cell& cell) {
    const std::int64_t batch = r_.resolved.document.training.batch_per_rank;
    micro_ = cell.micro;
    samples_ = std::min(batch, all_ - micro_ * batch);
    switch (cell.pass) {
      case Pass::forward: return go_forward(cell.stage);
      case Pass::backward: return go_back(cell.stage);
      case Pass::backward_weight: return learn(cell.stage);
    }
  }

  void go_forward(int k) {
    if (loaded_ < micro_) add_load();
    hand_over([&](const Hop& hop) { return hop.forward() && hop.to == k; });
    hand_over([&](const Hop& hop) { return hop.forward() && hop.from == k && !s_.stage(k).has(hop.value); });
    for (int s = s_.stage(k).first; s <= s_.stage(k).last; ++s) ops_.push_back(forward(s));
    hand_over([&](const Hop& hop) { return hop.forward() && hop.from == k && s_.stage(k).has(hop.value); });
  }

  // The last run is made again before gradients come, and before the loss, which reads what it ends with.
  void go_back(int k) {
    const auto add = [&](Op op) { ops_.push_back(std::move(op)); };
    make_again(s_.stage(k).last, add);
    if (s_.stage(k).has(last())) ops_.push_back(loss());
    hand_over([&](const Hop& hop) { return !hop.forward() && hop.to == k; });
    for (int s = s_.stage(k).last; s >= s_.stage(k).first; --s) {
      if (s < s_.stage(k).last) make_again(s, add);
      const bool weight_first = is(s, Kind::batch_norm);
      if (weight_first) add_weight(s);
      if (weight_first ? s > first() : passes_back(s)) ops_.push_back(backward_input(s));
      if (!weight_first && !separate_) add_weight(s);
    }
    hand_over([&](const Hop& hop) { return !hop.forward() && hop.from == k; });
  }

  // By the gradient of one micro-batch, which is counted as an update, or by that of the whole step.
  void add_updates(std::int32_t micro) {
    if (micro >= 0) ops_.push_back(count(micro));
    for (int s = last(); s >= 0; --s)
      if (has_parameters(s)) ops_.push_back(update(s)), ops_.back().micro = micro;
  }
  bool updates_each() const { return s_.schedule == experiment::PipelineSchedule::pipedream; }

  void learn(int k) {
    for (int s = s_.stage(k).last; s >= s_.stage(k).first; --s)
      if (!is(s, Kind::batch_norm)) add_weight(s);
  }

  void add_weight(int s) {
    if (!computes_by_parameters(s)) return;
    ops_.push_back(backward_weight(s, micro_ == micro_batches_of(r_.resolved, all_) - 1));
    if (updates_each() ? adds_to_tied(s) : adds_weight(s)) with_sum(ops_.back());
  }

  // Of the samples only what the rank's layers look at.
  void add_load() {
    Op op = load();
    loaded_ = micro_;
    std::erase_if(op.writes, [&](const Access& write) { return !looks_at(write.buffer); });
    if (!op.writes.empty()) ops_.push_back(std::move(op));
  }

  bool looks_at(plan::BufferId buffer) const {
    if (buffer == b_.labels.buffer) return s_.owns(last());
    for (int s = 0; s <= last(); ++s) {
      if (!s_.owns(s)) continue;
      if (buffer == b_.sample_numbers.buffer && is(s, Kind::dropout)) return true;
      if (buffer == b_.input.buffer && (s == 0 || segment(s).looks_up())) return true;
    }
    return false;
  }

  template <class IsMeant>
  void hand_over(IsMeant is_meant) {
    for (const Hop& hop : s_.split.hops)
      if (is_meant(hop))
        ops_.push_back(rooted(OpKind::broadcast, s_.lanes[static_cast<std::size_t>(hop.group)], hop.group, micro_ * hop.values + hop.number,
                              s_.split.rank_of(hop.from), hop.forward() ? activation(hop.value) : gradient(hop.value)));
  }

  // Each rank its part of the norm of the whole gradient.
  void add_clip() {
    for (int s = last(); s >= 0; --s)
      if (has_parameters(s)) ops_.push_back(norm(s));
    if (s_.norms.valid()) sum_norms();
    ops_.push_back(clip());
  }

  void sum_norms() {
    Op zero;
    zero.kind = OpKind::zero;
    zero.lane = LaneId(1);
    for (int s = 0; s <= last(); ++s) {
      if (has_parameters(s)) continue;
      if (zero.segment < 0) zero.segment = s;
      zero.writes.push_back({b_.reduced_norms.buffer, s, 1});
    }
    if (zero.segment >= 0) ops_.push_back(std::move(zero));
    Op sum;
    sum.kind = OpKind::all_reduce;
    sum.lane = s_.norms;
    sum.group = static_cast<std::int32_t>(s_.split.groups.size());
    sum.bucket = 0;
    sum.reads = sum.writes = {b_.reduced_norms};
    ops_.push_back(std::move(sum));
  }

  const StageRank& s_;
  std::int64_t all_;  // samples of the step
  std::vector<Op> ops_;
  bool separate_ = false;  // gradients of weights have cells of their own
  std::int32_t loaded_ = -1;
};

// Room for all micro-batches that a rank holds at once. Of what comes from elsewhere one more, that the next may come while it computes. Of what is given up,
// for the one that computes, and those whose gradients of weights wait for it; where it is sent, one more.
class Room {
 public:
  Room(const experiment::Resolved& e, const StageRank& stages, const experiment::Recomputation& recomputation) : s_(stages), recomputation_(recomputation) {
    for (const ProgramSize& program : training_of(e)) {
      micro_batches_ = std::max(micro_batches_, micro_batches_of(e, program.samples));
      cells_.push_back(s_.cells(micro_batches_of(e, program.samples)));
    }
  }

  Slots slots() const {
    Slots slots{held([](const Cell&) { return true; }, true), {}, {}, {}};
    for (std::size_t value = 0; value < s_.split.paths.size(); ++value) {
      const bool made_here = s_.owns(static_cast<int>(value));
      const int made = s_.split.stage_of(static_cast<int>(value));
      const std::int32_t kept = held([&](const Cell& cell) { return passes(value, cell.stage); }, !made_here);
      slots.sums.push_back(kept);
      slots.activations.push_back(recomputation_.gives_up(static_cast<int>(value)) ? std::min(kept, made_twice(made, is_sent(static_cast<int>(value), true)))
                                                                                   : kept);
      slots.gradients.push_back(held(
          [&](const Cell& cell) {
            return passes(value, cell.stage) && (cell.pass == Pass::backward || (cell.pass == Pass::backward_weight && cell.stage == made));
          },
          crosses(static_cast<int>(value))));
    }
    return slots;
  }

  // Whether peers read what a rank has of a value.
  bool is_sent(int value, bool forward) const {
    return std::any_of(s_.split.hops.begin(), s_.split.hops.end(),
                       [&](const Hop& hop) { return hop.value == value && hop.forward() == forward && s_.split.rank_of(hop.from) == s_.rank; });
  }

 private:
  bool passes(std::size_t value, int stage) const {
    const auto& path = s_.split.paths[value];
    return std::find(path.begin(), path.end(), stage) != path.end();
  }
  bool crosses(int value) const {
    return std::any_of(s_.split.hops.begin(), s_.split.hops.end(), [&](const Hop& hop) {
      return hop.value == value && !hop.forward() && (s_.split.rank_of(hop.from) == s_.rank || s_.split.rank_of(hop.to) == s_.rank);
    });
  }

  template <class IsMeant>
  std::int32_t held(IsMeant is_meant, bool one_more) const {
    std::int32_t most = 1;
    for (const auto& cells : cells_) most = std::max(most, experiment::most_held(cells, is_meant));
    const bool ahead = one_more && s_.schedule != experiment::PipelineSchedule::naive;
    return std::clamp(most + (ahead ? 1 : 0), 1, micro_batches_);
  }

  // The fewest in which no micro-batch takes the place of another, of an output that is there in the forward cell and from the backward cell to the last.
  std::int32_t made_twice(int stage, bool sent) const {
    const bool ahead = sent && s_.schedule != experiment::PipelineSchedule::naive;
    std::int32_t count = std::min(ahead ? 2 : 1, micro_batches_);
    while (std::any_of(cells_.begin(), cells_.end(), [&](const auto& cells) { return clash(cells, stage, count); })) ++count;
    return count;
  }

  static bool clash(const std::vector<Cell>& cells, int stage, std::int32_t count) {
    const bool waits = std::any_of(cells.begin(), cells.end(), [](const Cell& cell) { return cell.pass == Pass::backward_weight; });
    std::vector<bool> taken(static_cast<std::size_t>(count), false);
    for (const Cell& cell : cells) {
      if (cell.stage != stage) continue;
      const auto place = static_cast<std::size_t>(cell.micro % count);
      if (cell.pass == Pass::backward_weight) {
        taken[place] = false;
        continue;
      }
      if (taken[place]) return true;
      taken[place] = waits && cell.pass == Pass::backward;
    }
    return false;
  }

  const StageRank& s_;
  const experiment::Recomputation& recomputation_;
  std::int32_t micro_batches_ = 1;
  std::vector<std::vector<Cell>> cells_;  // by program
};

void add_lanes(const experiment::Resolved& e, StageRank& stages, plan::RankPlan& plan) {
  for (std::size_t g = 0; g < stages.split.groups.size(); ++g)
    stages.lanes.push_back(stages.split.groups[g].position(stages.rank) >= 0 ? add_comm_lane(plan, static_cast<std::int32_t>(g)) : LaneId());
  if (e.document.training.judges_gradients() && e.world() > 1) stages.norms = add_comm_lane(plan, static_cast<std::int32_t>(stages.split.groups.size()));
}

void share(const Room& room, const StageRank& stages, const ReplicaBuffers& b, plan::RankPlan& plan) {
  const auto is_read = [&](const plan::Access& buffer) { plan.buffers[buffer.buffer.index()].shared = true; };
  for (std::size_t s = 0; s < b.activations.size(); ++s) {
    if (room.is_sent(static_cast<int>(s), true)) is_read(b.activations[s]);
    if (room.is_sent(static_cast<int>(s), false)) is_read(b.activation_gradients[s]);
  }
  if (stages.norms.valid()) is_read(b.reduced_norms);
}

plan::RankPlan rank_of(const experiment::Resolved& whole, const Split& split, std::int32_t rank) {
  const experiment::Resolved e = experiment::of_rank(whole, rank);
  plan::RankPlan plan{rank, {{"input", plan::LaneKind::input, -1}, {"compute", plan::LaneKind::compute, -1}}, {}, {}};
  StageRank stages{split, rank, experiment::schedule_of(e.document.strategy)};
  add_lanes(e, stages, plan);
  const experiment::Recomputation recomputation = experiment::recomputation_of(whole, rank);
  const Room room(e, stages, recomputation);
  const Slots slots = room.slots();
  const std::vector<Bucket> none;
  Replica parts{e, none, -1, false, add_buffers(e, Shared::nothing, false, plan.buffers, slots), {}, {}};
  parts.slots = slots_by_buffer(parts.buffers, slots, plan.buffers.size());
  parts.recomputation = recomputation;
  share(room, stages, parts.buffers, plan);
  const bool has_loss = stages.owns(static_cast<int>(split.owners.size()) - 1);
  for (const ProgramSize& program : training_of(e))
    plan.programs.push_back({program.name, has_loss ? program.samples : 0, program.samples, 1, StageWriter(parts, stages, program.samples).train()});
  for (const ProgramSize& program : evaluation_of(e))
    plan.programs.push_back(
        {program.name, has_loss ? program.samples : 0, e.data.held_out_samples, program.repeats, StageWriter(parts, stages, program.samples).evaluate()});
  keep_versions(plan);
  drop_unused_buffers(plan);
  order_by_data(plan);
  return plan;
}

}  // namespace

base::Result<plan::Plan> stage_plan(const experiment::Resolved& experiment) {
  const Split split(experiment);
  std::vector<plan::Group> groups = split.groups;
  if (experiment.document.training.judges_gradients() && experiment.world() > 1) groups.push_back(everyone(experiment));
  return plan::Plan{experiment.world(), std::move(groups), schedule(experiment),
                    [experiment, split](std::int32_t rank) { return rank_of(experiment, split, rank); }};
}

}  // namespace trainyard::strategy
