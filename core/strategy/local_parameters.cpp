// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/strategy/local_parameters.h"

#include <algorithm>

#include "core/strategy/lanes.h"

namespace trainyard::strategy {
namespace {

using plan::Access;
using plan::Dependency;
using plan::LaneId;
using plan::Op;
using plan::OpKind;

}  // namespace

Op mix(std::vector<Access> reads, std::vector<std::int64_t> numerators, std::int64_t denominator,
       const Access& write) {
  Op op;
  op.kind = OpKind::mix;
  op.lane = kCompute;
  op.flops = write.count * (2 * std::ssize(reads) - 1);
  op.reads = std::move(reads);
  op.weights = {std::move(numerators), denominator};
  op.writes = {write};
  return op;
}

MeanOfRanks::MeanOfRanks(plan::RankPlan& plan, const experiment::Resolved& experiment,
                         const std::vector<Bucket>& buckets, std::int32_t group,
                         Weighting weighting)
    : buckets_(buckets),
      segments_(experiment.model.segments),
      rank_(plan.rank),
      ranks_(experiment.world()),
      group_(group),
      weighting_(weighting),
      parameters_(whole(plan, "params")),
      mean_(add_buffer(plan, "mean", plan.buffers[parameters_.buffer.index()].dtype,
                       parameters_.count, true)),
      spread_(add_buffer(plan, "spread", base::DType::fp64, std::ssize(segments_), false)),
      lane_(add_comm_lane(plan, group)) {}

Access MeanOfRanks::in_bucket(const Access& flat, std::int32_t bucket) const {
  const Bucket& one = buckets_[static_cast<std::size_t>(bucket)];
  return {flat.buffer, one.first, one.count};
}

Access MeanOfRanks::in_segment(const Access& flat, int segment) const {
  const model::Segment& one = segments_[static_cast<std::size_t>(segment)];
  return {flat.buffer, one.first, one.elements};
}

std::int32_t MeanOfRanks::bucket_of(int segment) const {
  const auto at = std::find_if(buckets_.begin(), buckets_.end(),
                               [&](const Bucket& one) { return one.first_segment <= segment; });
  return static_cast<std::int32_t>(at - buckets_.begin());
}

Op MeanOfRanks::addend(std::int32_t bucket) const {
  Op op = mix({in_bucket(parameters_, bucket)}, {1}, ranks_, in_bucket(mean_, bucket));
  if (weighting_ == Weighting::by_samples) op.weights = {{1}, 1, true};
  op.bucket = bucket;
  op.summands = {rank_};
  if (bucket == 0) op.after = {{lane_, Dependency::end, 1}};
  return op;
}

Op MeanOfRanks::all_reduce(std::int32_t bucket, std::int32_t after_compute_ops) const {
  Op op;
  op.kind = OpKind::all_reduce;
  op.lane = lane_;
  op.bucket = bucket;
  op.group = group_;
  op.reads = op.writes = {in_bucket(mean_, bucket)};
  op.after = {{kCompute, after_compute_ops, 0}};
  return op;
}

std::vector<Op> MeanOfRanks::average(const Access& scratch) const {
  std::vector<Op> ops;
  ops.reserve(2 * (buckets_.size() + segments_.size()));
  for (std::int32_t b = 0; b < bucket_count(); ++b) ops.push_back(addend(b));
  for (std::int32_t b = 0; b < bucket_count(); ++b) ops.push_back(all_reduce(b, b + 1));
  for_each_segment(
      [&](int s, bool first_of_bucket) { add_distance(s, first_of_bucket, scratch, ops); });
  return ops;
}

void MeanOfRanks::add_distance(int s, bool first_of_bucket, const Access& scratch,
                               std::vector<Op>& ops) const {
  ops.push_back(
      mix({in_segment(parameters_, s), in_segment(mean_, s)}, {1, -1}, 1, in_segment(scratch, s)));
  ops.back().segment = s;
  if (first_of_bucket) ops.back().after = {{lane_, bucket_of(s) + 1, 0}};
  Op norm;
  norm.kind = OpKind::norm;
  norm.lane = kCompute;
  norm.segment = s;
  norm.reads = {in_segment(scratch, s)};
  norm.writes = {{spread_.buffer, s, 1}};
  norm.flops = 2 * norm.reads.front().count;
  ops.push_back(std::move(norm));
}

void MeanOfRanks::evaluate_with(plan::Program& program, const Access& parameters) const {
  for (Op& op : program.ops) {
    for (Access& read : op.reads)
      if (read.buffer == parameters_.buffer) read.buffer = parameters.buffer;
    if (op.kind == OpKind::forward && op.segment == 0)
      op.after.push_back({lane_, Dependency::end, 1});
  }
}

std::vector<Op> MeanOfRanks::copy(const Access& from, const Access& to) const {
  std::vector<Op> ops;
  for_each_segment([&](int s, bool) {
    ops.push_back(mix({in_segment(from, s)}, {1}, 1, in_segment(to, s)));
    ops.back().segment = s;
  });
  return ops;
}

std::vector<Op> MeanOfRanks::end(const Access& parameters) const {
  std::vector<Op> ops = copy(parameters, parameters_);
  ops.front().after = {{lane_, Dependency::end, 1}};
  return ops;
}

}  // namespace trainyard::strategy
