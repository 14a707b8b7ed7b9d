// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/strategy/replica_step.h"

#include <algorithm>
#include <utility>

#include "core/strategy/compression.h"
#include "core/strategy/lanes.h"
#include "core/strategy/replica_ops.h"
#include "core/strategy/vertical.h"

namespace trainyard::strategy {
namespace {

using plan::Access;
using plan::Dependency;
using plan::LaneId;
using plan::Op;
using plan::OpKind;

const LaneId kComm{2}, kStatistics{3};

class StepWriter : private ReplicaOps {
 public:
  StepWriter(const Replica& replica, const SamplesOfStep& samples)
      : ReplicaOps(replica), step_(samples) {}

  std::vector<Op> train() {
    const std::int64_t batch = r_.resolved.document.training.batch_per_rank;
    last_own_micro_ = static_cast<std::int32_t>(std::max<std::int64_t>(step_.own - 1, 0) / batch);
    last_micro_ = synchronizes() || r_.shards_columns()
                      ? static_cast<std::int32_t>((step_.most - 1) / batch)
                      : last_own_micro_;
    for (micro_ = 0; micro_ <= last_micro_; ++micro_) {
      samples_ = std::clamp<std::int64_t>(step_.own - micro_ * batch, 0, batch);
      micro_step();
    }
    reduce_second_stages();
    if (clips()) add_clip();
    if (clips() || !averages_weights()) update_all();
    ops_.front().after = {{kCompute, input_free_, 1}};
    return std::move(ops_);
  }

  std::vector<Op> evaluate() {
    trains_ = false;
    samples_ = step_.own;
    add_load();
    ops_.front().after = {{kCompute, Dependency::end, 1}};
    if (r_.shards_columns()) sum_over_columns();
    if (samples_ > 0) forward_and_loss();
    return std::move(ops_);
  }

 private:
  void micro_step() {
    const bool empty = samples_ == 0;
    statistics_free_ = false;
    if (micro_ <= last_own_micro_ || r_.shards_columns()) add_load();
    if (micro_ == 0) add(rate());
    if (r_.shards_columns()) sum_over_columns();
    empty ? forward_without_samples() : forward_and_loss();
    for_each_segment([&](int s, std::int32_t bucket) {
      if (!empty) add_recomputation(s, [&](Op op) { add(std::move(op)); });
      empty ? backward_without_samples(s, bucket) : add_backward(s, bucket);
      if (micro_ == last_micro_) with_gradient(s, bucket);
    });
    if (!empty || r_.shards_columns()) input_free_ = compute_ops_;
  }

  // Called when the gradient of a segment is complete for the step. If ranks average weights,
  // updates the segment and averages its weights immediately, unless gradients are clipped.
  void with_gradient(int s, std::int32_t bucket) {
    if (averages_weights() && !clips()) update_and_average(s, bucket);
    if (reduces_gradients() && s == span_of(bucket).first_segment) reduce(bucket);
  }

  void update_all() {
    for_each_segment([&](int s, std::int32_t bucket) {
      if (!clips()) decode_before(s, bucket);
      if (averages_weights()) update_and_average(s, bucket);
      else if (has_parameters(s)) add_update(s, bucket);
    });
  }

  void update_and_average(int s, std::int32_t bucket) {
    if (has_parameters(s)) {
      add_update(s, bucket);
      weigh(s);
    }
    if (s == span_of(bucket).first_segment) all_reduce(b_.parameters, bucket);
  }

  // Calls `visit(segment, bucket number)` from the last segment to the first, which is the order in
  // which gradients are computed.
  template <class Visit>
  void for_each_segment(Visit visit) {
    for (std::size_t i = 0; i < r_.buckets.size(); ++i)
      for (int s = r_.buckets[i].last_segment; s >= r_.buckets[i].first_segment; --s)
        visit(s, static_cast<std::int32_t>(i));
  }

  Op& add(Op op) {
    ops_.push_back(std::move(op));
    if (ops_.back().lane == kCompute) ++compute_ops_;
    if (synchronizes() && ops_.back().lane == kStatistics) ++statistics_ops_;
    return ops_.back();
  }
  Op& add(OpKind kind, LaneId lane, int s = -1) {
    Op op;
    op.kind = kind;
    op.lane = lane;
    op.segment = s;
    return add(std::move(op));
  }

  void add_load() {
    Op& op = add(load());
    if (r_.shards_columns()) take_columns(r_, rows_now(), op);
    if (micro_ > 0) op.after = {{kCompute, input_free_, 0}};
  }

  void forward_and_loss() {
    for (int s = 0; s <= last(); ++s) add_forward(s);
    add(loss());
  }

  // Adds the forward pass of a rank without samples. The rank still contributes to batch norm sums
  // over all ranks, and updates its running statistics from these sums.
  void forward_without_samples() {
    for (int s = 0; s <= last(); ++s)
      if (synchronizes(s)) add_forward(s);
  }

  void add_forward(int s) {
    if (synchronizes(s)) add_statistics(s);
    Op& op = add(forward(s));
    if (synchronizes(s)) after_statistics(op);
    else if (shards_columns(s)) finish_with_own_rows(op);
    else if (s == 0) op.after = {{kInput, micro_ + 1, 0}};
    if (s == 0 && micro_ == 0 && averages_weights())
      op.after.push_back({kComm, Dependency::end, 1});
  }

  void add_statistics(int s) {
    Op& op = add(statistics(s));
    if (s == 0 && samples_ > 0) op.after = {{kInput, micro_ + 1, 0}};
    after_last_statistics(op);
    reduce_statistics(sums(s), number_of_sums(s));
  }

  // Makes the first op that overwrites batch norm sums wait until the collectives of the last
  // micro-step have sent and received all data: until then, peers may read the sums.
  void after_last_statistics(Op& op) {
    if (!std::exchange(statistics_free_, true))
      op.after.push_back(micro_ > 0 ? Dependency{kStatistics, statistics_ops_, 0}
                                    : Dependency{kStatistics, Dependency::end, 1});
  }

  void reduce_statistics(const Access& of, std::int32_t number) {
    collective(OpKind::all_reduce, kStatistics, r_.statistics.group, number, of);
  }
  void after_statistics(Op& op) const { op.after.push_back({kStatistics, statistics_ops_, 0}); }

  // Makes the first op that overwrites a bucket wait until the last reduction of the bucket has
  // sent and received all data: until then, peers may read the bucket.
  void after_last_reduction(Op& op, std::int32_t bucket) {
    if (!compressed() && std::exchange(overwritten_, bucket) != bucket)
      op.after.push_back({kComm, bucket + 1, 1});
  }

  void add_backward(int s, std::int32_t bucket) {
    if (is(s, Kind::batch_norm)) {
      add_backward_weight(s, bucket);
      if (sums_gradients(s)) reduce_gradients(s);
      if (s > first()) add_backward_input(s);
      return;
    }
    if (needs_backward_input(s)) add_backward_input(s);
    if (shards_columns(s)) gather_gradients();
    if (computes_by_parameters(s))
      add_backward_weight(s, is_tied(s) ? bucket_of(segment(s).tied_to) : bucket);
  }

  std::int32_t bucket_of(int s) const {
    const auto has = [s](const Bucket& bucket) {
      return bucket.first_segment <= s && s <= bucket.last_segment;
    };
    return static_cast<std::int32_t>(std::find_if(r_.buckets.begin(), r_.buckets.end(), has) -
                                     r_.buckets.begin());
  }

  void reduce_gradients(int s) {
    reduce_statistics(of(b_.gradient_sums, s), number_of_sums(s) + 1);
  }

  // Adds the backward pass of a rank without samples in this micro-step. If the rank has no samples
  // in the full step, its gradients are zero. If it had samples in earlier micro-steps, it adds
  // zeros to sums over all ranks.
  void backward_without_samples(int s, std::int32_t bucket) {
    if (micro_ == 0 && has_parameters(s)) zero(s, bucket);
    if (shards_columns(s)) {
      gather_gradients();
      add_backward_weight(s, bucket);
    }
    if (!sums_gradients(s)) return;
    if (micro_ > 0) zero_sums(s);
    reduce_gradients(s);
  }

  void add_backward_weight(int s, std::int32_t bucket) {
    Op& op = add(backward_weight(s, micro_ == (shards_columns(s) ? last_micro_ : last_own_micro_)));
    if (shards_columns(s)) {
      take_columns_of_weight(r_, rows_now(), op);
      op.after = {{rows_lane(), exchanges_, 0}};
    }
    if (adds_weight(s)) with_sum(op);
    else if (reduces_gradients()) after_last_reduction(op, bucket);
  }

  void add_backward_input(int s) {
    Op& op = add(backward_input(s));
    if (sums_gradients(s)) after_statistics(op);
    if (shards_columns(s)) scatter_gradient_rows(r_, rows_now(), op);
  }

  void zero(int s, std::int32_t bucket) {
    std::vector<Access> writes;
    if (!shards_columns(s)) writes = {segment_of(b_.gradients, s), {b_.local_norms.buffer, s, 1}};
    if (s == last()) writes.push_back(b_.metrics);
    if (sums_gradients(s)) writes.push_back(of(b_.gradient_sums, s));
    if (writes.empty()) return;
    Op& op = add(OpKind::zero, kCompute, s);
    op.writes = std::move(writes);
    if (reduces_gradients() && !shards_columns(s)) after_last_reduction(op, bucket);
  }

  // First layer if it is split by feature columns (vertical sharding)

  LaneId rows_lane() const { return r_.shared_columns.lane; }
  const MicroRows& rows_now() const { return step_.rows[static_cast<std::size_t>(micro_)]; }
  std::int32_t number_of_sum() const { return r_.shared_columns.first_number + 2 * micro_; }

  // Returns the dependency on the previous exchange of rows, which must have sent and received all
  // data: until then, peers may read its buffers. All other ops of a micro-step depend on the
  // exchanged sums, to which all ranks contribute.
  Dependency gathered_last() const {
    return micro_ > 0 ? Dependency{rows_lane(), 2 * micro_, 0}
                      : Dependency{rows_lane(), Dependency::end, 1};
  }

  void sum_over_columns() {
    Op op = partial_products(r_, rows_now());
    op.lane = kCompute;
    op.micro = micro_;
    op.after = {{kInput, micro_ + 1, 0}, gathered_last()};
    ops_.push_back(std::move(op));
    ++compute_ops_;
    exchange(OpKind::reduce_scatter, number_of_sum(), sums_of(r_, rows_now()));
  }

  void finish_with_own_rows(Op& op) {
    finish_forward(r_, rows_now(), op);
    op.after = {{rows_lane(), exchanges_, 0}};
  }

  void gather_gradients() {
    exchange(OpKind::all_gather, number_of_sum() + 1, gradients_of(r_, rows_now()));
  }

  void exchange(OpKind kind, std::int32_t number, const Access& whole) {
    collective(kind, rows_lane(), r_.shared_columns.group, number, whole);
    ops_.back().row = row_of(r_);
    ++exchanges_;
  }

  void zero_sums(int s) {
    Op& op = add(OpKind::zero, kCompute, s);
    op.micro = micro_;
    op.writes = {of(b_.gradient_sums, s)};
  }

  void reduce(std::int32_t bucket) {
    compressed() ? reduce_encoded(bucket, 0) : all_reduce(b_.gradients, bucket);
  }
  void reduce_second_stages() {
    for (std::int32_t bucket = 0; compressed() && bucket < buckets(); ++bucket)
      if (r_.compression.encoded[static_cast<std::size_t>(bucket)].size() > 1)
        reduce_encoded(bucket, 1);
  }

  // Adds the encoding and the collective of a bucket. The encoding waits until the collective of
  // the previous step has sent and received all data: until then, peers may read the old encoding.
  void reduce_encoded(std::int32_t bucket, std::size_t stage) {
    const Encoded& encoded = r_.compression.encoded[static_cast<std::size_t>(bucket)][stage];
    Op encode = strategy::encode(r_, bucket, stage);
    encode.lane = kCompute;
    encode.after = {{kComm, encoded.number + 1, 1}};
    if (stage > 0)
      encode.after.push_back(
          {kComm, r_.compression.encoded[static_cast<std::size_t>(bucket)][0].number + 1, 0});
    ops_.push_back(std::move(encode));
    ++compute_ops_;
    collective(encoded.collective, kComm, r_.group, encoded.number, encoded.whole);
  }

  // Adds the decoding of a bucket. Later ops on the lane read the reduced gradient.
  void decode_before(int s, std::int32_t bucket) {
    if (!compressed() || s != span_of(bucket).last_segment) return;
    Op op = strategy::decode(r_, bucket);
    op.lane = kCompute;
    op.after = {
        {kComm, r_.compression.encoded[static_cast<std::size_t>(bucket)].back().number + 1, 0}};
    ops_.push_back(std::move(op));
    ++compute_ops_;
  }

  void all_reduce(const Access& of, std::int32_t bucket) {
    collective(OpKind::all_reduce, kComm, r_.group, bucket,
               {of.buffer, span_of(bucket).first, span_of(bucket).count});
  }

  // Adds a collective op that waits for all compute ops that were added before it.
  void collective(OpKind kind, LaneId lane, std::int32_t group, std::int32_t number,
                  const Access& whole) {
    Op& op = add(kind, lane);
    op.bucket = number;
    op.group = group;
    op.reads = op.writes = {whole};
    op.after = {{kCompute, compute_ops_, 0}};
  }

  void after_reduction(Op& op, std::int32_t bucket) {
    if (reduces_gradients() && !compressed()) op.after = {{kComm, bucket + 1, 0}};
  }

  void add_clip() {
    for_each_segment([&](int s, std::int32_t bucket) {
      decode_before(s, bucket);
      if (has_parameters(s)) after_reduction(add(norm(s)), bucket);
    });
    add(clip());
  }

  void add_update(int s, std::int32_t bucket) {
    Op& op = add(update(s));
    averages_weights() ? after_last_reduction(op, bucket) : after_reduction(op, bucket);
  }

  void weigh(int s) {
    Op& op = add(OpKind::weigh, kCompute, s);
    op.reads = op.writes = {segment_of(b_.parameters, s)};
    op.flops = segment(s).elements;
  }

  const SamplesOfStep& step_;
  // index of the last micro-step of the step, and of the last micro-step in which this rank has
  // samples
  std::int32_t last_micro_ = 0, last_own_micro_ = 0;
  std::vector<Op> ops_;
  std::int32_t compute_ops_ = 0, statistics_ops_ = 0, exchanges_ = 0;
  std::int32_t input_free_ = 0;    // number of compute ops after which no op reads the input
  std::int32_t overwritten_ = -1;  // bucket that was written last
  bool statistics_free_ = true;    // true if no peer reads the sums of the last micro-step any more
};

}  // namespace

std::vector<Op> train(const Replica& replica, const SamplesOfStep& samples) {
  return StepWriter(replica, samples).train();
}
std::vector<Op> evaluate(const Replica& replica, const SamplesOfStep& samples) {
  return StepWriter(replica, samples).evaluate();
}

}  // namespace trainyard::strategy
