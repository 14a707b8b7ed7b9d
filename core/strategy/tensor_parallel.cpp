// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks that have some rows or columns of each layer (core/model/split.h), and all take the same samples. What a pair's second layer makes is summed over ranks
// on the way forward, and the gradient at the inputs of its first one on the way back; a loss of classes in parts goes by what all ranks gather of their
// logits. What waits for what follows from the data.
#include <algorithm>

#include "core/experiment/stages.h"
#include "core/model/split.h"
#include "core/strategy/edit.h"
#include "core/strategy/order.h"
#include "core/strategy/replica.h"
#include "core/strategy/replica_buffers.h"
#include "core/strategy/replica_ops.h"
#include "core/strategy/same_samples.h"
#include "core/strategy/strategy.h"

namespace trainyard::strategy {
namespace {

using plan::LaneId;

constexpr std::int32_t kGroup = 0;  // of all ranks

struct TensorRank {
  std::int32_t rank = 0, ranks = 1;
  LaneId lane;             // of the group
  plan::Access summaries;  // of the logits, of all ranks one after another; invalid where every rank has all classes

  bool first() const { return rank == 0; }  // who tells what all have alike
};

class TensorWriter : private ReplicaOps {
 public:
  TensorWriter(const Replica& replica, const TensorRank& rank, std::int64_t samples) : ReplicaOps(replica), t_(rank), all_(samples) {}

  std::vector<Op> train() {
    const std::int32_t micro_steps = micro_batches_of(r_.resolved, all_);
    ops_.push_back(rate());
    for (micro_ = 0; micro_ < micro_steps; ++micro_) {
      pass_forward();
      for (int s = last(); s >= 0; --s) go_back(s, micro_ == micro_steps - 1);
    }
    micro_ = -1;
    if (clips()) add_clip();
    update_all();
    return std::move(ops_);
  }

  std::vector<Op> evaluate() {
    trains_ = false;
    pass_forward();
    return std::move(ops_);
  }

 private:
  // Each has a collective of its own, which is used again by every micro-step.
  enum class Way { forward, backward, loss, norms, statistics };
  std::int32_t number_of(Way way, int s = 0) const { return static_cast<std::int32_t>(way) * (last() + 1) + s; }

  void pass_forward() {
    const std::int64_t batch = r_.resolved.document.training.batch_per_rank;
    samples_ = std::min(batch, all_ - micro_ * batch);
    ops_.push_back(load());
    for (int s = 0; s <= last(); ++s) go_forward(s);
    add_loss();
  }

  // Of what the layer is split by, the rank's own.
  plan::Columns columns(int s) const {
    if (segment(s).split == model::Split::none) return {};
    return {segment(s).split_first, model::split_count(model_, s), segment(s).split_of};
  }

  void go_forward(int s) {
    ops_.push_back(forward(s));
    ops_.back().columns = columns(s);
    if (!model::sums_outputs(segment(s))) return;
    ops_.back().kind = OpKind::partial;
    collective(OpKind::all_reduce, number_of(Way::forward, s), activation(s));
    if (model::activates_sum(segment(s))) activate(s);
  }

  void activate(int s) {
    Op op = op_of(OpKind::forward, s);
    op.reads = op.writes = {activation(s)};
    op.flops = samples_ * segment(s).outputs;
    ops_.push_back(std::move(op));
  }

  // Who is not first says nothing of it: in evaluation it has nothing to do.
  void add_loss() {
    Op op = loss();
    if (!t_.first()) std::erase(op.writes, b_.metrics);
    if (t_.summaries.buffer.valid()) {
      summarise();
      op.reads.insert(op.reads.begin() + 1, summaries());
    }
    if (!op.writes.empty()) ops_.push_back(std::move(op));
  }

  std::int64_t logits_rows() const { return samples_ * model_.labels(); }
  Access summaries() const { return {t_.summaries.buffer, 0, model::kSoftmaxSummary * logits_rows() * t_.ranks}; }

  void summarise() {
    Op op = op_of(OpKind::softmax, -1);
    op.reads = {activation(last()), labels()};
    op.writes = {{t_.summaries.buffer, model::kSoftmaxSummary * logits_rows() * t_.rank, model::kSoftmaxSummary * logits_rows()}};
    op.columns = columns(last());
    op.flops = samples_ * 3 * segment(last()).outputs;
    ops_.push_back(std::move(op));
    collective(OpKind::all_gather, number_of(Way::loss), summaries());
  }

  // What all sum crosses while the gradient of the weights is computed.
  void go_back(int s, bool last_of_step) {
    const bool weight_first = is(s, Kind::batch_norm);
    if (weight_first) add_weight(s, last_of_step);
    if (weight_first ? s > first() : passes_back(s)) add_backward_input(s);
    if (s > first() && model::sums_input_gradient(segment(s))) collective(OpKind::all_reduce, number_of(Way::backward, s), gradient(s - 1));
    if (!weight_first) add_weight(s, last_of_step);
  }

  void add_backward_input(int s) {
    ops_.push_back(backward_input(s));
    if (s > first() && model::sums_input_gradient(segment(s))) ops_.back().columns = columns(s);
  }

  void add_weight(int s, bool last_of_step) {
    if (!computes_by_parameters(s)) return;
    ops_.push_back(backward_weight(s, last_of_step));
    if (adds_weight(s)) with_sum(ops_.back());
  }

  // Whether the rank tells of a segment: of one that all have the first does, of one that is split each of its part.
  bool tells(int s) const { return has_parameters(s) && (t_.first() || segment(s).split != model::Split::none); }

  void add_clip() {
    ops_.push_back(zero(b_.reduced_norms));
    for (int s = last(); s >= 0; --s)
      if (tells(s)) ops_.push_back(norm(s));
    collective(OpKind::all_reduce, number_of(Way::norms), b_.reduced_norms);
    ops_.push_back(clip());
  }

  void update_all() {
    ops_.push_back(zero(b_.statistics));
    for (int s = last(); s >= 0; --s) {
      if (!has_parameters(s)) continue;
      ops_.push_back(update(s));
      if (!tells(s)) ops_.push_back(zero({b_.statistics.buffer, 3 * s, 3}));
    }
    collective(OpKind::all_reduce, number_of(Way::statistics), b_.statistics);
  }

  void collective(OpKind kind, std::int32_t number, const Access& whole) { ops_.push_back(collective_op(kind, t_.lane, kGroup, number, whole)); }

  const TensorRank& t_;
  std::int64_t all_;  // samples of the step
  std::vector<Op> ops_;
};

// What all sum peers read in place.
void share(const model::Model& model, const ReplicaBuffers& b, plan::RankPlan& plan) {
  const auto is_read = [&](const plan::Access& buffer) {
    if (buffer.buffer.valid()) plan.buffers[buffer.buffer.index()].shared = true;
  };
  for (std::size_t s = 0; s < model.segments.size(); ++s) {
    if (model::sums_outputs(model.segments[s])) is_read(b.activations[s]);
    if (s > 0 && model::sums_input_gradient(model.segments[s])) is_read(b.activation_gradients[s - 1]);
  }
  is_read(b.statistics);
  is_read(b.reduced_norms);
}

plan::RankPlan rank_of(const experiment::Resolved& whole, std::int32_t rank) {
  const experiment::Resolved e = experiment::of_rank(whole, rank);
  plan::RankPlan plan{rank, {{"input", plan::LaneKind::input, -1}, {"compute", plan::LaneKind::compute, -1}}, {}, {}};
  TensorRank own{rank, e.world(), add_comm_lane(plan, kGroup), {}};
  const std::vector<Bucket> none;
  const Replica parts{e, none, -1, false, add_buffers(e, Shared::nothing, false, plan.buffers), {}, {}};
  share(e.model, parts.buffers, plan);
  if (model::splits_classes(e.model))
    own.summaries =
        add_buffer(plan, "summaries", base::DType::fp64, model::kSoftmaxSummary * e.document.training.batch_per_rank * e.model.labels() * own.ranks, true);
  for (const ProgramSize& program : training_of(e))
    plan.programs.push_back({program.name, own.first() ? program.samples : 0, program.samples, 1, TensorWriter(parts, own, program.samples).train()});
  for (const ProgramSize& program : evaluation_of(e))
    plan.programs.push_back(
        {program.name, own.first() ? program.samples : 0, e.data.held_out_samples, program.repeats, TensorWriter(parts, own, program.samples).evaluate()});
  drop_unused_buffers(plan);
  order_by_data(plan);
  return plan;
}

}  // namespace

base::Result<plan::Plan> tensor_parallel(const experiment::Resolved& experiment) {
  if (experiment.world() < 2) return mirrored(experiment);  // nothing to share out
  return plan::Plan{experiment.world(), {everyone(experiment)}, schedule(experiment), [experiment](std::int32_t rank) { return rank_of(experiment, rank); }};
}

}  // namespace trainyard::strategy
