// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/strategy/mesh_step.h"

#include <algorithm>

#include "core/model/split.h"
#include "core/strategy/unit_ops.h"

namespace trainyard::strategy {
namespace {

using experiment::Cell;
using experiment::Pass;

class MeshWriter : private UnitOps {
 public:
  MeshWriter(const Replica& replica, const MeshRank& rank, const ProgramSize& size)
      : UnitOps(replica, rank.shards ? &*rank.shards : nullptr, rank.replicas, size.micro_batches,
                rank.mesh.callers(rank.at)),
        m_(rank),
        size_(size) {
    learns_each_ = updates_each();
  }

  std::vector<Op> train() {
    const std::vector<Cell> cells = m_.cells(static_cast<std::int32_t>(micro_batches_.size()));
    separate_ = std::any_of(cells.begin(), cells.end(),
                            [](const Cell& cell) { return cell.pass == Pass::backward_weight; });
    add(rate());
    for (const Cell& cell : cells) {
      add_cell(cell);
      if (updates_each() && cell.pass == Pass::backward) update_by_micro_batch();
    }
    micro_ = -1;
    keep_shards();
    if (m_.alike.group >= 0) sum_shards(m_.alike);
    if (clips()) add_clip();
    if (!updates_each()) update_all();
    if (m_.shards && !units().gathers) gather_updated();
    return std::move(ops_);
  }

  std::vector<Op> evaluate() {
    trains_ = false;
    for (int k = 0; k <= m_.split.last(); ++k)
      for (const std::int32_t micro : taken_)
        if (m_.split.rank_of(k) == m_.at.stage) add_cell({Pass::forward, k, micro});
    if (m_.has_loss() && samples_ > 0) add_loss();
    return std::move(ops_);
  }

 private:
  // Kinds of collectives among the tensor ranks of a stage. Collectives are numbered by kind,
  // segment, and slot of the buffer on which they work.
  enum class Way { forward, backward, loss, norms, statistics, count };
  std::int32_t number_of(Way way, int s = 0, std::int32_t place = 0) const {
    return (place * static_cast<std::int32_t>(Way::count) + static_cast<std::int32_t>(way)) *
               (last() + 1) +
           s;
  }
  std::int32_t place_in(const Access& buffer) const { return micro_ % r_.slots_of(buffer.buffer); }

  void add_cell(const Cell& cell) {
    micro_ = cell.micro;
    samples_ = samples_of(micro_);
    switch (cell.pass) {
      case Pass::forward: return go_forward(m_.stage(cell.stage), cell.stage);
      case Pass::backward: return go_backward(m_.stage(cell.stage), cell.stage);
      case Pass::backward_weight: return learn(m_.stage(cell.stage));
    }
  }

  // Adds the forward pass of a stage. Samples are loaded in every step, even if the replica has
  // none.
  void go_forward(const model::Stage& stage, int k) {
    if (loaded_ < micro_ && (samples_ > 0 || (trains_ && micro_ == first_micro_))) add_load();
    begin_pass(UnitPass::forward, stage.first, stage.last);
    transfer_hops([&](const Hop& hop) { return hop.forward() && hop.to == k; });
    transfer_hops(
        [&](const Hop& hop) { return hop.forward() && hop.from == k && !stage.has(hop.value); });
    for (int s = stage.first; s <= stage.last; ++s) {
      gather_for(s);
      if (samples_ > 0) pass_forward(s);
    }
    transfer_hops(
        [&](const Hop& hop) { return hop.forward() && hop.from == k && stage.has(hop.value); });
  }

  // Adds the backward pass of a stage. It recomputes the last group of dropped outputs early:
  // before gradients arrive from the next stage, and before the loss, which reads the last output.
  void go_backward(const model::Stage& stage, int k) {
    begin_pass(UnitPass::backward, stage.first, stage.last);
    if (!stage.empty()) gather_and_recompute(stage.last);
    if (k == m_.split.last()) end_forward(stage);
    transfer_hops([&](const Hop& hop) { return !hop.forward() && hop.to == k; });
    for (int s = stage.last; s >= stage.first; --s) {
      if (s < stage.last) gather_and_recompute(s);
      learning(s, !separate_, [&] { pass_back(s); });
    }
    transfer_hops([&](const Hop& hop) { return !hop.forward() && hop.from == k; });
  }

  void learn(const model::Stage& stage) {
    for (int s = stage.last; s >= stage.first; --s)
      learning(s, true, [&] {
        if (!is(s, Kind::batch_norm)) add_weight(s);
      });
  }

  // Adds the ops that gather the parameters and recompute the outputs that the backward pass of a
  // layer reads.
  void gather_and_recompute(int s) {
    gather_for(s);
    if (samples_ == 0) return;
    add_recomputation(s, [&](Op op) {
      op.columns = columns(op.segment);
      add(std::move(op));
    });
  }

  // Ends the forward pass on the rank with the loss: adds the loss op. If the micro-step has no
  // samples and the rank has no layer, adds an op that zeroes the metrics instead.
  void end_forward(const model::Stage& stage) {
    if (samples_ > 0) add_loss();
    else if (stage.empty() && micro_ == first_micro_ && m_.reports_samples()) add(zero(b_.metrics));
  }

  // Adds the backward ops of a segment. `is_last`: the weight gradient is complete after these ops.
  // If the segment is then the last one of its bucket in backward order, adds the sum of the bucket
  // as well.
  template <class GoBackward>
  void learning(int s, bool is_last, GoBackward go_backward) {
    if (is_last) free_gradient_slot(s);
    if (samples_ > 0) go_backward();
    else if (is_last) add_zero_gradient(s);
    if (!is_last) return;
    sum_gradient(s);
    if (m_.ties.group >= 0 && segment(s).apart && is_last_micro_step())
      collective(OpKind::all_reduce, m_.ties, 0, segment_of(b_.gradients, s));
    for (std::int32_t b = 0;
         b < buckets() && !m_.shards && (updates_each() || is_last_micro_step()); ++b)
      if (span_of(b).first_segment == s)
        collective(OpKind::all_reduce, m_.replicas, b,
                   {b_.gradients.buffer, span_of(b).first, span_of(b).count});
  }

  void add_zero_gradient(int s) {
    Op op = zero_gradient(s);
    if (s == last() && micro_ == first_micro_ && m_.reports_samples())
      op.writes.push_back(b_.metrics);
    if (!op.writes.empty()) add(std::move(op));
  }

  // Returns the columns of a split layer that this rank holds.
  plan::Columns columns(int s) const {
    if (segment(s).split == model::Split::none) return {};
    return {segment(s).split_first, model::split_count(model_, s), segment(s).split_of};
  }

  void pass_forward(int s) {
    add(forward(s));
    ops_.back().columns = columns(s);
    if (!model::sums_outputs(segment(s))) return;
    ops_.back().kind = OpKind::partial;
    collective(OpKind::all_reduce, m_.parts,
               number_of(Way::forward, s, place_in(of(b_.activations, s))), activation(s));
    if (model::activates_sum(segment(s))) activate(s);
  }

  void activate(int s) {
    Op op = op_of(OpKind::forward, s);
    op.reads = op.writes = {activation(s)};
    op.flops = samples_ * segment(s).outputs;
    add(std::move(op));
  }

  // Adds the backward pass of a segment. If it is split, the tensor ranks sum the input gradient
  // while they compute the weight gradient.
  void pass_back(int s) {
    const bool weight_first = is(s, Kind::batch_norm),
               sums = s > first() && model::sums_input_gradient(segment(s));
    if (weight_first) add_weight(s);
    if (weight_first ? s > first() : needs_backward_input(s)) add(backward_input(s));
    if (sums) {
      ops_.back().columns = columns(s);
      collective(OpKind::all_reduce, m_.parts,
                 number_of(Way::backward, s, place_in(of(b_.activation_gradients, s - 1))),
                 gradient(s - 1));
    }
    if (!weight_first && !separate_) add_weight(s);
  }

  void add_weight(int s) {
    if (!computes_by_parameters(s)) return;
    add(backward_weight(s, leaves_norms() && is_last_with_samples()));
    if (adds_to_tied(s) || (micro_ > first_micro_ && accumulates_gradient(s)))
      with_sum(ops_.back());
  }

  bool updates_each() const { return m_.schedule == experiment::PipelineSchedule::pipedream; }

  // Adds an update after the micro-batch (pipedream). versions.h saves older parameters that are
  // still needed.
  void update_by_micro_batch() {
    add(count(micro_));
    if (is_last_micro_step()) zero_statistics();
    for (int s = last(); s >= 0; --s) {
      if (!has_parameters(s)) continue;
      Op op = update(s);
      op.micro = micro_;
      add(std::move(op));
      if (is_last_micro_step()) zero_unreported(s);
    }
    if (is_last_micro_step()) tell();
  }

  // Adds the loss. In an evaluation, only the rank that reports samples has a loss op, because no
  // other rank writes metrics.
  void add_loss() {
    Op op = loss();
    if (trains_ && updates_each() && m_.mesh.data * m_.mesh.tensor > 1)
      op.weights = {{samples_}, size_.of_replicas[static_cast<std::size_t>(micro_)]};
    if (!m_.reports_samples()) std::erase(op.writes, b_.metrics);
    if (m_.summaries.buffer.valid()) {
      summarize();
      op.reads.insert(op.reads.begin() + 1, summaries());
    }
    if (!op.writes.empty()) add(std::move(op));
  }

  std::int64_t logits_rows() const { return samples_ * model_.labels(); }
  Access summaries() const {
    return {m_.summaries.buffer, 0, model::kSoftmaxSummary * logits_rows() * m_.mesh.tensor};
  }

  void summarize() {
    Op op = op_of(OpKind::softmax, -1);
    op.reads = {activation(last()), labels()};
    op.writes = {{m_.summaries.buffer, model::kSoftmaxSummary * logits_rows() * m_.at.part,
                  model::kSoftmaxSummary * logits_rows()}};
    op.columns = columns(last());
    op.flops = samples_ * 3 * segment(last()).outputs;
    add(std::move(op));
    collective(OpKind::all_gather, m_.parts, number_of(Way::loss), summaries());
  }

  // Loads only the sample data that the rank's layers read, or that the layers read which the rank
  // calls remotely. A called rank receives its data from the callers.
  void add_load() {
    Op op = load();
    loaded_ = micro_;
    std::erase_if(op.writes, [&](const Access& write) { return !reads_buffer(write.buffer); });
    if (!op.writes.empty()) add(std::move(op));
  }

  bool reads_buffer(plan::BufferId buffer) const {
    if (buffer == b_.labels.buffer) return m_.has_loss();
    if (m_.mesh.is_called(m_.at)) return false;
    if (buffer == b_.input.buffer && m_.sends(model::kSamples, true)) return true;
    if (buffer == b_.sample_numbers.buffer && m_.sends(model::kSampleNumbers, true)) return true;
    for (int s = 0; s <= last(); ++s) {
      if (!m_.owns(s)) continue;
      if (buffer == b_.sample_numbers.buffer && is(s, Kind::dropout)) return true;
      if (buffer == b_.input.buffer && (s == 0 || segment(s).looks_up())) return true;
    }
    return false;
  }

  template <class IsMeant>
  void transfer_hops(IsMeant is_meant) {
    for (const Hop& hop : m_.split.hops) {
      if (samples_ == 0 || !is_meant(hop) || (hop.value == model::kSampleNumbers && !trains_))
        continue;
      const Line& line = m_.line(hop.way, micro_);
      const std::int32_t root =
          m_.mesh.rank_of({m_.replica_of(micro_), m_.split.rank_of(hop.from), m_.at.part});
      add(rooted(OpKind::broadcast, line.lane, line.group, micro_ * hop.values + hop.number, root,
                 carried(hop)));
    }
  }

  Access carried(const Hop& hop) const {
    if (hop.value == model::kSampleNumbers) return sample_numbers();
    return hop.forward() ? activation(hop.value) : gradient(hop.value);
  }

  // Ops that run once per step, such as norms and updates

  // True if the rank reports a segment. If all tensor ranks have the full segment, the first rank
  // reports it. If the segment is split, every rank reports its part.
  bool tells(int s) const {
    return has_parameters(s) && (m_.at.part == 0 || segment(s).split != model::Split::none);
  }

  // Computes the norm of the full gradient: each rank adds the squared norm of its part. If several
  // ranks have equal gradients, only the first counts. A tied table counts only on the rank with
  // its segment.
  void add_clip() {
    std::vector<bool> counts(model_.segments.size(), false);
    const auto count = [&](int s, Op norm) {
      if (m_.norms.group >= 0 && !(tells(s) && m_.owns(s) && m_.reports_parameters)) return;
      counts[static_cast<std::size_t>(s)] = true;
      add(std::move(norm));
    };
    if (m_.shards)
      for_each_shard([&](const Unit& unit, int s) { count(s, norm_of_part(unit, s)); });
    for (int s = last(); s >= 0 && !m_.shards; --s)
      if (has_parameters(s)) count(s, norm(s));
    if (m_.norms.group >= 0) sum_norms(counts);
    add(clip());
  }

  void sum_norms(const std::vector<bool>& counts) {
    Op none = op_of(OpKind::zero, -1);
    for (int s = 0; s <= last(); ++s) {
      if (counts[static_cast<std::size_t>(s)]) continue;
      if (none.segment < 0) none.segment = s;
      none.writes.push_back({b_.reduced_norms.buffer, s, 1});
    }
    if (none.segment >= 0) add(std::move(none));
    collective(OpKind::all_reduce, m_.norms,
               m_.norms.group == m_.parts.group ? number_of(Way::norms) : 0, b_.reduced_norms);
  }

  // Updates all segments and reports statistics of the update of each full segment.
  void update_all() {
    zero_statistics();
    const auto change = [&](int s, Op update) {
      add(std::move(update));
      zero_unreported(s);
    };
    if (m_.shards)
      for_each_shard([&](const Unit& unit, int s) { change(s, update_of_part(unit, s)); });
    for (int s = last(); s >= 0 && !m_.shards; --s)
      if (has_parameters(s)) change(s, update(s));
    tell();
  }

  // True if the reported values (norms and statistics) are sums over ranks, because each rank has
  // only a part of the segment. Each rank then writes its part.
  bool sums_statistics() const { return m_.statistics.group >= 0; }
  void zero_statistics() {
    if (sums_statistics()) add(zero(b_.statistics));
  }
  void zero_unreported(int s) {
    if (sums_statistics() && !tells(s)) add(zero({b_.statistics.buffer, 3 * s, 3}));
  }
  void tell() {
    if (sums_statistics())
      collective(OpKind::all_reduce, m_.statistics,
                 m_.statistics.group == m_.replicas.group ? unit_number(UnitWay::norms, 1)
                                                          : number_of(Way::statistics),
                 b_.statistics);
  }

  const MeshRank& m_;
  const ProgramSize& size_;
  bool separate_ = false;  // true if the schedule computes weight gradients in separate passes
  std::int32_t loaded_ = -1;
};

}  // namespace

std::vector<plan::Op> mesh_training(const Replica& replica, const MeshRank& rank,
                                    const ProgramSize& size) {
  return MeshWriter(replica, rank, size).train();
}
std::vector<plan::Op> mesh_evaluation(const Replica& replica, const MeshRank& rank,
                                      const ProgramSize& size) {
  return MeshWriter(replica, rank, size).evaluate();
}

}  // namespace trainyard::strategy
