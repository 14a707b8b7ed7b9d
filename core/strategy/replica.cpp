// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/strategy/replica.h"

#include "core/data/input_pipeline.h"

namespace trainyard::strategy {
namespace {

using plan::Access;
using plan::BufferId;
using plan::Dependency;
using plan::LaneId;
using plan::Op;
using plan::OpKind;
using plan::Program;
using plan::RankPlan;

const LaneId kInput{0}, kCompute{1}, kComm{2};

base::DType dtype_of(const experiment::Resolved& e) {
  return e.document.training.precision == experiment::Precision::fp64 ? base::DType::fp64 : base::DType::fp32;
}

int moments(const experiment::OptimizerSpec& optimizer) {
  if (optimizer.kind != experiment::OptimizerKind::sgd) return 2;
  return optimizer.momentum > 0 ? 1 : 0;
}

// The numbers of a replica's buffers.
struct Buffers {
  BufferId parameters, gradients, input, labels, metrics, local_norms, reduced_norms, factor, statistics, rate;
  std::vector<BufferId> moments, activations, activation_gradients;  // the latter two by segment
};

class BufferTable {
 public:
  explicit BufferTable(std::vector<plan::Buffer>& buffers) : buffers_(buffers) {}
  BufferId add(std::string name, base::DType dtype, std::int64_t elements, bool shared = false) {
    buffers_.push_back({std::move(name), dtype, elements, shared});
    return BufferId(buffers_.size() - 1);
  }

 private:
  std::vector<plan::Buffer>& buffers_;
};

Buffers add_buffers(const experiment::Resolved& e, bool shared_gradients, std::vector<plan::Buffer>& list) {
  const base::DType dtype = dtype_of(e);
  const std::int64_t batch = e.document.training.batch_per_rank, elements = e.model.elements;
  const auto segments = static_cast<std::int64_t>(e.model.segments.size());
  BufferTable table(list);
  Buffers b;
  b.parameters = table.add("params", dtype, elements);
  b.gradients = table.add("grads", dtype, elements, shared_gradients);
  for (int m = 0; m < moments(e.document.training.optimizer); ++m) b.moments.push_back(table.add("moment" + std::to_string(m + 1), dtype, elements));
  b.input = table.add("input", dtype, batch * e.model.features);
  b.labels = table.add("labels", base::DType::int32, batch);
  for (std::int64_t s = 0; s < segments; ++s) {
    const std::int64_t outputs = batch * e.model.segments[static_cast<std::size_t>(s)].outputs;
    b.activations.push_back(table.add("act.s" + std::to_string(s), dtype, outputs));
    b.activation_gradients.push_back(table.add("grad.s" + std::to_string(s), dtype, outputs));
  }
  b.metrics = table.add("metrics", base::DType::fp64, 2);
  b.local_norms = table.add("local_norms", base::DType::fp64, segments);
  b.statistics = table.add("statistics", base::DType::fp64, 3 * segments);
  b.rate = table.add("rate", base::DType::fp64, 2);
  if (e.document.training.clip_norm > 0) {
    b.reduced_norms = table.add("reduced_norms", base::DType::fp64, segments);
    b.factor = table.add("factor", base::DType::fp64, 1);
  }
  return b;
}

// Writes the ops of one program.
class StepWriter {
 public:
  StepWriter(const experiment::Resolved& e, const RankPlan& rank, const Buffers& b, Program& program) : e_(e), rank_(rank), b_(b), program_(program) {}

  void train(const std::vector<Bucket>& buckets, std::int32_t group) {
    const bool empty = program_.samples == 0;
    load();
    add(OpKind::rate, kCompute).writes = {whole(b_.rate)};
    if (!empty) forward_and_loss(true);
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      const auto bucket = static_cast<std::int32_t>(i);
      first_of_bucket_ = true;
      for (int s = buckets[i].last_segment; s >= buckets[i].first_segment; --s) empty ? zero(s, bucket, group) : backward(s, bucket, group);
      if (group >= 0) all_reduce(buckets[i], bucket, group);
    }
    if (e_.document.training.clip_norm > 0) clip(buckets, group);
    for (std::size_t i = 0; i < buckets.size(); ++i)
      for (int s = buckets[i].last_segment; s >= buckets[i].first_segment; --s) update(s, static_cast<std::int32_t>(i), group);
    program_.ops.front().after = {{kCompute, input_free_, 1}};
  }

  void evaluate() {
    load();
    program_.ops.front().after = {{kCompute, Dependency::end, 1}};
    forward_and_loss(false);
  }

 private:
  Access whole(BufferId id) const { return {id, 0, rank_.buffers[id.index()].elements}; }
  Access rows(BufferId id, std::int64_t width) const { return {id, 0, program_.samples * width}; }
  Access segment_of(BufferId flat, int s) const { return {flat, segment(s).first, segment(s).elements}; }
  const model::Segment& segment(int s) const { return e_.model.segments[static_cast<std::size_t>(s)]; }
  int last() const { return static_cast<int>(e_.model.segments.size()) - 1; }
  Access activation(int s) const { return s < 0 ? rows(b_.input, e_.model.features) : rows(b_.activations[static_cast<std::size_t>(s)], segment(s).outputs); }
  Access gradient(int s) const { return rows(b_.activation_gradients[static_cast<std::size_t>(s)], segment(s).outputs); }

  Op& add(OpKind kind, LaneId lane, int s = -1) {
    Op op;
    op.kind = kind;
    op.lane = lane;
    op.segment = s;
    program_.ops.push_back(std::move(op));
    if (lane == kCompute) ++compute_ops_;
    return program_.ops.back();
  }

  void load() {
    Op& op = add(OpKind::load, kInput);
    op.micro = 0;
    op.writes = {activation(-1), rows(b_.labels, 1)};
  }

  void forward_and_loss(bool with_gradient) {
    for (int s = 0; s <= last(); ++s) {
      Op& op = add(OpKind::forward, kCompute, s);
      op.micro = 0;
      op.reads = {activation(s - 1), segment_of(b_.parameters, s)};
      op.writes = {activation(s)};
      op.flops = program_.samples * segment(s).forward_flops();
      if (s == 0) op.after = {{kInput, 1, 0}};
    }
    Op& op = add(OpKind::loss, kCompute);
    op.micro = 0;
    op.reads = {activation(last()), rows(b_.labels, 1)};
    op.writes = {whole(b_.metrics)};
    if (with_gradient) op.writes.insert(op.writes.begin(), gradient(last()));
    op.flops = program_.samples * 5 * e_.model.classes;
  }

  // A bucket's gradients may be overwritten once its last reduction is over on both sides.
  void after_last_reduction(Op& op, std::int32_t bucket, std::int32_t group) {
    if (group >= 0 && first_of_bucket_) op.after.push_back({kComm, bucket + 1, 1});
    first_of_bucket_ = false;
  }

  void backward(int s, std::int32_t bucket, std::int32_t group) {
    if (s > 0 || segment(s).activation != compute::Activation::none) {
      Op& op = add(OpKind::backward_input, kCompute, s);
      op.micro = 0;
      op.reads = {activation(s), gradient(s)};
      if (segment(s).activation != compute::Activation::none) op.writes.push_back(gradient(s));
      if (s > 0) {
        op.reads.push_back(segment_of(b_.parameters, s));
        op.writes.push_back(gradient(s - 1));
      }
      op.flops = program_.samples * (s > 0 ? segment(s).backward_input_flops() : segment(s).outputs);
    }
    Op& op = add(OpKind::backward_weight, kCompute, s);
    op.micro = 0;
    op.reads = {activation(s - 1), gradient(s)};
    op.writes = {segment_of(b_.gradients, s), {b_.local_norms, s, 1}};
    op.flops = program_.samples * segment(s).backward_weight_flops();
    after_last_reduction(op, bucket, group);
    input_free_ = compute_ops_;
  }

  void zero(int s, std::int32_t bucket, std::int32_t group) {
    Op& op = add(OpKind::zero, kCompute, s);
    op.writes = {segment_of(b_.gradients, s), {b_.local_norms, s, 1}};
    if (s == last()) op.writes.push_back(whole(b_.metrics));
    after_last_reduction(op, bucket, group);
  }

  void all_reduce(const Bucket& bucket, std::int32_t number, std::int32_t group) {
    const std::int32_t ready = compute_ops_;
    Op& op = add(OpKind::all_reduce, kComm);
    op.bucket = number;
    op.group = group;
    op.reads = op.writes = {{b_.gradients, bucket.first, bucket.count}};
    op.after = {{kCompute, ready, 0}};
  }

  void after_reduction(Op& op, std::int32_t bucket, std::int32_t group) {
    if (group >= 0) op.after = {{kComm, bucket + 1, 0}};
  }

  void clip(const std::vector<Bucket>& buckets, std::int32_t group) {
    for (std::size_t i = 0; i < buckets.size(); ++i)
      for (int s = buckets[i].last_segment; s >= buckets[i].first_segment; --s) {
        Op& op = add(OpKind::norm, kCompute, s);
        op.reads = {segment_of(b_.gradients, s)};
        op.writes = {{b_.reduced_norms, s, 1}};
        op.flops = 2 * segment(s).elements;
        after_reduction(op, static_cast<std::int32_t>(i), group);
      }
    Op& op = add(OpKind::clip, kCompute);
    op.reads = {whole(b_.reduced_norms)};
    op.writes = {whole(b_.factor)};
  }

  void update(int s, std::int32_t bucket, std::int32_t group) {
    Op& op = add(OpKind::update, kCompute, s);
    op.reads = {segment_of(b_.gradients, s), whole(b_.rate), segment_of(b_.parameters, s)};
    op.writes = {segment_of(b_.parameters, s), {b_.statistics, 3 * s, 3}};
    for (const BufferId moment : b_.moments) {
      op.reads.push_back(segment_of(moment, s));
      op.writes.push_back(segment_of(moment, s));
    }
    if (b_.factor.valid()) op.reads.push_back(whole(b_.factor));
    op.flops = segment(s).elements * (b_.moments.size() == 2 ? 16 : 6);
    after_reduction(op, bucket, group);
  }

  const experiment::Resolved& e_;
  const RankPlan& rank_;
  const Buffers& b_;
  Program& program_;
  std::int32_t compute_ops_ = 0;
  std::int32_t input_free_ = 0;  // compute ops after which nothing reads the input any more
  bool first_of_bucket_ = false;
};

}  // namespace

std::vector<Bucket> buckets(const model::Model& model, std::int64_t bytes, base::DType dtype) {
  std::vector<Bucket> list;
  int last = static_cast<int>(model.segments.size()) - 1;
  std::int64_t count = 0;
  for (int s = last; s >= 0; --s) {
    const model::Segment& segment = model.segments[static_cast<std::size_t>(s)];
    count += segment.elements;
    if (s > 0 && count * base::size_of(dtype) < bytes) continue;
    list.push_back({s, last, segment.first, count});
    last = s - 1;
    count = 0;
  }
  return list;
}

plan::RankPlan replica(const experiment::Resolved& e, std::int32_t rank, const std::vector<Bucket>& buckets, std::int32_t group) {
  RankPlan plan{rank, {{"input", plan::LaneKind::input, -1}, {"compute", plan::LaneKind::compute, -1}}, {}, {}};
  if (group >= 0) plan.lanes.push_back({"comm.g" + std::to_string(group), plan::LaneKind::comm, group});
  const Buffers buffers = add_buffers(e, group >= 0, plan.buffers);
  const std::int64_t batch = e.document.training.batch_per_rank;
  const auto add_program = [&](std::string name, std::int64_t samples, std::int64_t global_samples, std::int64_t repeats, bool trains) {
    plan.programs.push_back({std::move(name), samples, global_samples, repeats, {}});
    StepWriter writer(e, plan, buffers, plan.programs.back());
    trains ? writer.train(buckets, group) : writer.evaluate();
  };
  add_program("train", batch, e.global_batch, 1, true);
  if (e.tail_samples > 0) add_program("tail", data::slice(e.tail_samples, e.world(), rank).second, e.tail_samples, 1, true);
  const std::int64_t held_out = data::slice(e.data.held_out_samples, e.world(), rank).second;
  if (held_out >= batch) add_program("evaluate", batch, e.data.held_out_samples, held_out / batch, false);
  if (held_out % batch > 0) add_program("evaluate_tail", held_out % batch, e.data.held_out_samples, 1, false);
  return plan;
}

plan::Schedule schedule(const experiment::Resolved& e) {
  return {e.steps, e.full_steps_per_epoch, e.tail_samples > 0, e.data.held_out_samples > 0 ? e.document.run.evaluate_every_steps : 0};
}

}  // namespace trainyard::strategy
