// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/strategy/replica.h"

#include "core/data/input_pipeline.h"
#include "core/strategy/replica_step.h"

namespace trainyard::strategy {
namespace {

base::DType dtype_of(const experiment::Resolved& e) {
  return e.document.training.precision == experiment::Precision::fp64 ? base::DType::fp64 : base::DType::fp32;
}

int moments(const experiment::OptimizerSpec& optimizer) {
  if (optimizer.kind != experiment::OptimizerKind::sgd) return 2;
  return optimizer.momentum > 0 ? 1 : 0;
}

ReplicaBuffers add_buffers(const experiment::Resolved& e, bool shared_gradients, std::vector<plan::Buffer>& list) {
  const auto add = [&](std::string name, base::DType type, std::int64_t count, bool shared = false) {
    list.push_back({std::move(name), type, count, shared});
    return plan::Access{plan::BufferId(list.size() - 1), 0, count};
  };
  const base::DType dtype = dtype_of(e);
  const std::int64_t batch = e.document.training.batch_per_rank, elements = e.model.elements;
  const auto segments = static_cast<std::int64_t>(e.model.segments.size());
  ReplicaBuffers b;
  b.parameters = add("params", dtype, elements);
  b.gradients = add("grads", dtype, elements, shared_gradients);
  for (int m = 0; m < moments(e.document.training.optimizer); ++m) b.moments.push_back(add("moment" + std::to_string(m + 1), dtype, elements));
  b.input = add("input", dtype, batch * e.model.features);
  b.labels = add("labels", base::DType::int32, batch);
  for (const model::Segment& segment : e.model.segments) {
    const std::string number = std::to_string(b.activations.size());
    b.activations.push_back(add("act.s" + number, dtype, batch * segment.outputs));
    b.activation_gradients.push_back(add("grad.s" + number, dtype, batch * segment.outputs));
  }
  b.metrics = add("metrics", base::DType::fp64, 2);
  b.local_norms = add("local_norms", base::DType::fp64, segments);
  b.statistics = add("statistics", base::DType::fp64, 3 * segments);
  b.rate = add("rate", base::DType::fp64, 2);
  if (e.document.training.clip_norm > 0) {
    b.reduced_norms = add("reduced_norms", base::DType::fp64, segments);
    b.factor = add("factor", base::DType::fp64, 1);
  }
  return b;
}

}  // namespace

std::vector<Bucket> buckets(const experiment::Resolved& e) {
  std::vector<Bucket> list;
  int last = static_cast<int>(e.model.segments.size()) - 1;
  std::int64_t count = 0;
  for (int s = last; s >= 0; --s) {
    const model::Segment& segment = e.model.segments[static_cast<std::size_t>(s)];
    count += segment.elements;
    if (s > 0 && count * base::size_of(dtype_of(e)) < e.document.strategy.bucket_bytes) continue;
    list.push_back({s, last, segment.first, count});
    last = s - 1;
    count = 0;
  }
  return list;
}

plan::RankPlan replica(const experiment::Resolved& e, std::int32_t rank, const std::vector<Bucket>& buckets, std::int32_t group) {
  plan::RankPlan plan{rank, {{"input", plan::LaneKind::input, -1}, {"compute", plan::LaneKind::compute, -1}}, {}, {}};
  if (group >= 0) plan.lanes.push_back({"comm.g" + std::to_string(group), plan::LaneKind::comm, group});
  const Replica parts{e, buckets, group, add_buffers(e, group >= 0, plan.buffers)};
  const std::int64_t batch = e.document.training.batch_per_rank;
  const auto add_program = [&](std::string name, std::int64_t samples, std::int64_t global_samples, std::int64_t repeats, bool trains) {
    plan.programs.push_back({std::move(name), samples, global_samples, repeats, trains ? train(parts, samples) : evaluate(parts, samples)});
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
