// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/strategy/replica_ops.h"

#include "core/strategy/lanes.h"
#include "core/strategy/vertical.h"

namespace trainyard::strategy {
namespace {

plan::Op made(plan::OpKind kind, plan::LaneId lane, int s = -1, std::int32_t micro = -1) {
  plan::Op op;
  op.kind = kind;
  op.lane = lane;
  op.segment = s;
  op.micro = micro;
  return op;
}

}  // namespace

plan::Op ReplicaOps::op_of(OpKind kind, int s) const { return made(kind, kCompute, s, micro_); }

plan::Op ReplicaOps::zero(const Access& span) const {
  Op op = op_of(OpKind::zero, 0);
  op.writes = {span};
  return op;
}

plan::Op ReplicaOps::load() const {
  Op op = made(OpKind::load, kInput, -1, micro_);
  op.writes = {activation(-1), labels()};
  if (trains_ && b_.sample_numbers.buffer.valid()) op.writes.push_back(sample_numbers());
  return op;
}

plan::Op ReplicaOps::rate() const {
  Op op = made(OpKind::rate, kCompute);
  op.writes = {b_.rate};
  return op;
}

plan::Op ReplicaOps::count(std::int32_t update) const {
  Op op = made(OpKind::rate, kCompute, -1, update);
  op.reads = op.writes = {{b_.rate.buffer, 2, 1}};
  return op;
}

// Returns the op that computes batch norm sums over the rank's samples, which are then all-reduced.
plan::Op ReplicaOps::statistics(int s) const {
  Op op = made(OpKind::statistics, kCompute, s, micro_);
  op.reads = {activation(s - 1)};
  op.writes = {sums(s)};
  op.flops = samples_ * segment(s).sums_flops();
  return op;
}

// Returns an op that computes a segment's output. Accesses and flops of
// batch norm sums are not included.
plan::Op ReplicaOps::pass(OpKind kind, int s) const {
  Op op = made(kind, kCompute, s, micro_);
  op.reads = {activation(s - 1)};
  if (is(s, Kind::wide)) op.reads.push_back(activation(-1));
  if (computes_by_parameters(s)) op.reads.push_back(segment_of(b_.parameters, s));
  if (segment(s).addend >= 0) op.reads.push_back(activation(segment(s).addend));
  op.writes = {activation(s)};
  if (trains_ && is(s, Kind::dropout)) with_numbers(op);
  op.flops = samples_ * (segment(s).forward_flops() - segment(s).sums_flops());
  return op;
}

plan::Op ReplicaOps::forward(int s) const {
  Op op = pass(OpKind::forward, s);
  if (is(s, Kind::batch_norm)) with_running(op);
  if (!synchronizes(s)) op.flops += samples_ * segment(s).sums_flops();
  return op;
}

// Returns the op that recomputes an output. It does not update running statistics, because the
// forward pass has already updated them.
plan::Op ReplicaOps::recompute(int s) const {
  Op op = pass(OpKind::recompute, s);
  if (is(s, Kind::batch_norm)) op.reads.push_back(sums(s));
  return op;
}

// Adds the access to running statistics: training updates them from the statistics of the batch;
// evaluation reads them.
void ReplicaOps::with_running(Op& op) const {
  const Access running{b_.running.buffer, segment(op.segment).running,
                       2 * segment(op.segment).channels()};
  op.reads.push_back(running);
  if (!trains_) return;
  op.writes.push_back(running);
  (synchronizes(op.segment) ? op.reads : op.writes).push_back(sums(op.segment));
}

// Makes an op read what dropout depends on: the sample indices and the step.
void ReplicaOps::with_numbers(Op& op) const {
  op.reads.push_back(sample_numbers());
  op.reads.push_back({b_.rate.buffer, 1, 1});
}

plan::Op ReplicaOps::loss() const {
  Op op = made(OpKind::loss, kCompute, -1, micro_);
  op.reads = {activation(last()), labels()};
  if (trains_) op.writes.push_back(gradient(last()));
  op.writes.push_back(b_.metrics);
  op.flops = samples_ * 5 * segment(last()).outputs;
  return op;
}

plan::Op ReplicaOps::backward_weight(int s, bool last_of_step) const {
  Op op = made(OpKind::backward_weight, kCompute, s, micro_);
  op.reads = {activation(segment(s).looks_up() ? -1 : s - 1), gradient(s)};
  op.writes = {segment_of(b_.gradients, s)};
  if (has_separate_gradient(s) && last_of_step)
    op.writes.push_back({b_.local_norms.buffer, model_.owner(s), 1});
  if (is(s, Kind::batch_norm)) normalized_backward_weight(op);
  op.flops = samples_ * segment(s).backward_weight_flops();
  return op;
}

// Makes a weight gradient op add to the gradient of earlier micro-steps or of a tied segment.
void ReplicaOps::with_sum(Op& op) const {
  op.reads.push_back(segment_of(b_.gradients, op.segment));
  const std::int64_t elements = model_.owner(segment(op.segment)).elements;
  op.writes.push_back({b_.micro_gradients.buffer, 0, elements});
  op.flops += elements;
}

void ReplicaOps::normalized_backward_weight(Op& op) const {
  const int s = op.segment;
  op.reads.push_back(sums(s));
  op.writes.push_back(of(b_.gradient_sums, s));
  if (!activates(s)) return;
  op.reads.push_back(activation(s));
  op.writes.push_back(gradient(s));
}

plan::Op ReplicaOps::backward_input(int s) const {
  Op op = made(OpKind::backward_input, kCompute, s, micro_);
  if (reads_output(s)) op.reads.push_back(activation(s));
  op.reads.push_back(gradient(s));
  if (activates(s) && !is(s, Kind::batch_norm)) op.writes.push_back(gradient(s));
  if (s > first()) {
    if (computes_by_parameters(s) && !is(s, Kind::wide))
      op.reads.push_back(segment_of(b_.parameters, s));
    if (reads_input(s)) op.reads.push_back(activation(s - 1));
    if (is(s, Kind::batch_norm))
      op.reads.insert(op.reads.end(), {sums(s), of(b_.gradient_sums, s)});
    if (is(s, Kind::dropout)) with_numbers(op);
    if (of(b_.partial_gradients, s).buffer.valid())
      op.writes.push_back(rows(of(b_.partial_gradients, s), segment(s).inputs));
    give(op, s - 1, segment(s).accumulates);
  }
  if (segment(s).addend >= first()) give(op, segment(s).addend, segment(s).addend_accumulates);
  op.flops = samples_ * (s > first() ? segment(s).backward_input_flops() : segment(s).outputs);
  return op;
}

// Makes an op write the gradient of a segment's output, or add to it.
void ReplicaOps::give(Op& op, int to, bool accumulates) const {
  if (accumulates) op.reads.push_back(gradient(to));
  op.writes.push_back(gradient(to));
}

plan::Op ReplicaOps::norm(int s, const Access& gradient) const {
  Op op = made(OpKind::norm, kCompute, s);
  op.reads = {gradient};
  op.writes = {{b_.reduced_norms.buffer, s, 1}};
  op.flops = 2 * gradient.count;
  return op;
}

plan::Op ReplicaOps::clip() const {
  Op op = made(OpKind::clip, kCompute);
  op.reads = {b_.reduced_norms};
  op.writes = {b_.factor};
  return op;
}

plan::Op ReplicaOps::update(int s) const {
  std::vector<Access> moments;
  for (const Access& moment : b_.moments) moments.push_back(segment_of(moment, s));
  return update(s, segment_of(b_.gradients, s), segment_of(b_.parameters, s), moments);
}

plan::Op ReplicaOps::update(int s, const Access& gradient, const Access& parameters,
                            const std::vector<Access>& moments) const {
  Op op = made(OpKind::update, kCompute, s);
  op.reads = {gradient, b_.rate, parameters};
  op.writes = {parameters, {b_.statistics.buffer, 3 * s, 3}};
  op.reads.insert(op.reads.end(), moments.begin(), moments.end());
  op.writes.insert(op.writes.end(), moments.begin(), moments.end());
  if (b_.factor.buffer.valid()) op.reads.push_back(b_.factor);
  op.flops = parameters.count * (moments.size() == 2 ? 16 : 6);
  return op;
}

}  // namespace trainyard::strategy
