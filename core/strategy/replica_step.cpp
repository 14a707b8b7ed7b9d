// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/strategy/replica_step.h"

#include <algorithm>
#include <utility>

#include "core/strategy/compression.h"

namespace trainyard::strategy {
namespace {

using plan::Access;
using plan::Dependency;
using plan::LaneId;
using plan::Op;
using plan::OpKind;
using Kind = model::LayerKind;

const LaneId kInput{0}, kCompute{1}, kComm{2}, kStatistics{3};

class StepWriter {
 public:
  StepWriter(const Replica& replica, std::int64_t samples)
      : r_(replica), b_(replica.buffers), model_(replica.resolved.model), step_samples_(samples), samples_(samples) {}

  std::vector<Op> train(std::int64_t most_samples) {
    const std::int64_t batch = r_.resolved.document.training.batch_per_rank;
    last_own_micro_ = static_cast<std::int32_t>(std::max<std::int64_t>(step_samples_ - 1, 0) / batch);
    last_micro_ = synchronises() ? static_cast<std::int32_t>((most_samples - 1) / batch) : last_own_micro_;
    for (micro_ = 0; micro_ <= last_micro_; ++micro_) {
      samples_ = std::clamp<std::int64_t>(step_samples_ - micro_ * batch, 0, batch);
      micro_step();
    }
    reduce_second_stages();
    if (clips()) clip();
    if (clips() || !averages_weights()) update_all();
    ops_.front().after = {{kCompute, input_free_, 1}};
    return std::move(ops_);
  }

  std::vector<Op> evaluate() {
    trains_ = false;
    load();
    ops_.front().after = {{kCompute, Dependency::end, 1}};
    forward_and_loss();
    return std::move(ops_);
  }

 private:
  void micro_step() {
    const bool empty = samples_ == 0;
    statistics_free_ = false;
    if (micro_ <= last_own_micro_) load();
    if (micro_ == 0) add(OpKind::rate, kCompute).writes = {b_.rate};
    empty ? forward_of_others() : forward_and_loss();
    for_each_segment([&](int s, std::int32_t bucket) {
      empty ? backward_of_others(s, bucket) : backward(s, bucket);
      if (micro_ == last_micro_) with_gradient(s, bucket);
    });
    if (!empty) input_free_ = compute_ops_;
  }

  // The step's gradient of a segment is there. Weights are updated and averaged at once where nothing is asked of the whole gradient.
  void with_gradient(int s, std::int32_t bucket) {
    if (averages_weights() && !clips()) update_and_average(s, bucket);
    if (reduces_gradients() && s == span_of(bucket).first_segment) reduce(bucket);
  }

  void update_all() {
    for_each_segment([&](int s, std::int32_t bucket) {
      if (!clips()) decode_before(s, bucket);
      if (averages_weights()) update_and_average(s, bucket);
      else if (has_parameters(s)) update(s, bucket);
    });
  }

  void update_and_average(int s, std::int32_t bucket) {
    if (has_parameters(s)) {
      update(s, bucket);
      weigh(s);
    }
    if (s == span_of(bucket).first_segment) all_reduce(b_.parameters, bucket);
  }

  bool clips() const { return b_.factor.buffer.valid(); }
  bool averages_weights() const { return r_.averages_weights; }
  bool reduces_gradients() const { return r_.group >= 0 && !averages_weights(); }

  const model::Segment& segment(int s) const { return model_.segments[static_cast<std::size_t>(s)]; }
  const Bucket& span_of(std::int32_t number) const { return r_.buckets[static_cast<std::size_t>(number)]; }
  std::int32_t buckets() const { return static_cast<std::int32_t>(r_.buckets.size()); }
  bool compressed() const { return !r_.compression.encoded.empty(); }  // then comm works on what is encoded, and never on gradients
  int last() const { return static_cast<int>(model_.segments.size()) - 1; }
  int first() const { return model_.first_with_parameters(); }  // no gradient is wanted before it
  bool is(int s, Kind kind) const { return segment(s).kind == kind; }
  bool has_parameters(int s) const { return segment(s).elements > 0; }
  bool activates(int s) const { return segment(s).activation != compute::Activation::none; }
  bool synchronises() const { return r_.statistics.group >= 0; }
  std::int32_t number_of_sums(int s) const { return r_.statistics.numbers[static_cast<std::size_t>(s)]; }
  bool synchronises(int s) const { return trains_ && synchronises() && number_of_sums(s) >= 0; }
  bool sums_gradients(int s) const { return synchronises(s) && s > first(); }  // then what it hands on depends on those of all samples
  bool reads_output(int s) const { return is(s, Kind::linear) || is(s, Kind::max_pool) || (activates(s) && !is(s, Kind::batch_norm)); }
  static const Access& of(const std::vector<Access>& by_segment, int s) { return by_segment[static_cast<std::size_t>(s)]; }

  Access rows(const Access& buffer, std::int64_t width) const { return {buffer.buffer, 0, samples_ * width}; }
  Access segment_of(const Access& flat, int s) const { return {flat.buffer, segment(s).first, segment(s).elements}; }
  Access activation(int s) const { return s < 0 ? rows(b_.input, model_.features) : rows(b_.activations[static_cast<std::size_t>(s)], segment(s).outputs); }
  Access gradient(int s) const { return rows(b_.activation_gradients[static_cast<std::size_t>(s)], segment(s).outputs); }

  // From the last segment to the first, as their gradients come: `visit(segment, number of its bucket)`.
  template <class Visit>
  void for_each_segment(Visit visit) {
    for (std::size_t i = 0; i < r_.buckets.size(); ++i)
      for (int s = r_.buckets[i].last_segment; s >= r_.buckets[i].first_segment; --s) visit(s, static_cast<std::int32_t>(i));
  }

  Op& add(OpKind kind, LaneId lane, int s = -1) {
    Op op;
    op.kind = kind;
    op.lane = lane;
    op.segment = s;
    ops_.push_back(std::move(op));
    if (lane == kCompute) ++compute_ops_;
    if (lane == kStatistics) ++statistics_ops_;
    return ops_.back();
  }

  void load() {
    Op& op = add(OpKind::load, kInput);
    op.micro = micro_;
    op.writes = {activation(-1), rows(b_.labels, 1)};
    if (trains_ && b_.sample_numbers.buffer.valid()) op.writes.push_back(rows(b_.sample_numbers, 1));
    if (micro_ > 0) op.after = {{kCompute, input_free_, 0}};
  }

  void forward_and_loss() {
    for (int s = 0; s <= last(); ++s) forward(s);
    Op& op = add(OpKind::loss, kCompute);
    op.micro = micro_;
    op.reads = {activation(last()), rows(b_.labels, 1)};
    op.writes = {b_.metrics};
    if (trains_) op.writes.insert(op.writes.begin(), gradient(last()));
    op.flops = samples_ * 5 * model_.classes;
  }

  // Without samples a rank still adds to the sums of all, and keeps the running statistics that they have.
  void forward_of_others() {
    for (int s = 0; s <= last(); ++s)
      if (synchronises(s)) forward(s);
  }

  void forward(int s) {
    if (synchronises(s)) statistics(s);
    Op& op = add(OpKind::forward, kCompute, s);
    op.micro = micro_;
    op.reads = {activation(s - 1)};
    if (has_parameters(s)) op.reads.push_back(segment_of(b_.parameters, s));
    if (segment(s).addend >= 0) op.reads.push_back(activation(segment(s).addend));
    op.writes = {activation(s)};
    if (is(s, Kind::batch_norm)) with_running(op);
    if (trains_ && is(s, Kind::dropout)) with_numbers(op);
    op.flops = samples_ * (segment(s).forward_flops() - (synchronises(s) ? segment(s).sums_flops() : 0));
    if (synchronises(s)) after_statistics(op);
    else if (s == 0) op.after = {{kInput, micro_ + 1, 0}};
    if (s == 0 && micro_ == 0 && averages_weights()) op.after.push_back({kComm, Dependency::end, 1});
  }

  // In training running statistics follow those of the batch, in evaluation they take their place.
  void with_running(Op& op) {
    const Access running{b_.running.buffer, segment(op.segment).running, 2 * segment(op.segment).channels()};
    op.reads.push_back(running);
    if (!trains_) return;
    op.writes.push_back(running);
    (synchronises(op.segment) ? op.reads : op.writes).push_back(of(b_.sums, op.segment));
  }

  // The sums over the rank's own samples, which become those over all.
  void statistics(int s) {
    Op& op = add(OpKind::statistics, kCompute, s);
    op.micro = micro_;
    op.reads = {activation(s - 1)};
    op.writes = {of(b_.sums, s)};
    op.flops = samples_ * segment(s).sums_flops();
    if (s == 0 && samples_ > 0) op.after = {{kInput, micro_ + 1, 0}};
    after_last_statistics(op);
    add_up(of(b_.sums, s), number_of_sums(s));
  }

  // Peers may read what the last micro-step summed until its collectives are over on both sides: the first op that overwrites any waits.
  void after_last_statistics(Op& op) {
    if (!std::exchange(statistics_free_, true))
      op.after.push_back(micro_ > 0 ? Dependency{kStatistics, statistics_ops_, 0} : Dependency{kStatistics, Dependency::end, 1});
  }

  void add_up(const Access& sums, std::int32_t number) { collective(OpKind::all_reduce, kStatistics, r_.statistics.group, number, sums); }
  void after_statistics(Op& op) const { op.after.push_back({kStatistics, statistics_ops_, 0}); }

  // What is dropped follows from the samples and the step.
  void with_numbers(Op& op) {
    op.reads.push_back(rows(b_.sample_numbers, 1));
    op.reads.push_back({b_.rate.buffer, 1, 1});
  }

  // A bucket may be overwritten once its last reduction is over on both sides: the first op that does so waits.
  void after_last_reduction(Op& op, std::int32_t bucket) {
    if (!compressed() && std::exchange(overwritten_, bucket) != bucket) op.after.push_back({kComm, bucket + 1, 1});
  }

  // A batch normalisation's gradient at its input follows from the sums that make its weight's.
  void backward(int s, std::int32_t bucket) {
    if (is(s, Kind::batch_norm)) {
      backward_weight(s, bucket);
      if (sums_gradients(s)) add_up_gradients(s);
      if (s > first()) backward_input(s);
      return;
    }
    if (s > first() || (s == first() && activates(s))) backward_input(s);
    if (has_parameters(s)) backward_weight(s, bucket);
  }

  void add_up_gradients(int s) { add_up(of(b_.gradient_sums, s), number_of_sums(s) + 1); }

  // A rank without samples in the step has gradients of zero; one that has none left adds zeros to what all sum.
  void backward_of_others(int s, std::int32_t bucket) {
    if (micro_ == 0 && has_parameters(s)) zero(s, bucket);
    if (!sums_gradients(s)) return;
    if (micro_ > 0) zero_sums(s);
    add_up_gradients(s);
  }

  void backward_weight(int s, std::int32_t bucket) {
    Op& op = add(OpKind::backward_weight, kCompute, s);
    op.micro = micro_;
    op.reads = {activation(s - 1), gradient(s)};
    op.writes = {segment_of(b_.gradients, s)};
    if (micro_ == last_own_micro_) op.writes.push_back({b_.local_norms.buffer, s, 1});
    if (is(s, Kind::batch_norm)) normalised_backward_weight(op);
    op.flops = samples_ * segment(s).backward_weight_flops();
    if (micro_ > 0) with_sum(op);
    else if (reduces_gradients()) after_last_reduction(op, bucket);
  }

  // Adds to what earlier micro-steps left.
  void with_sum(Op& op) {
    op.reads.push_back(segment_of(b_.gradients, op.segment));
    op.writes.push_back({b_.micro_gradients.buffer, 0, segment(op.segment).elements});
    op.flops += segment(op.segment).elements;
  }

  void normalised_backward_weight(Op& op) {
    const int s = op.segment;
    op.reads.push_back(of(b_.sums, s));
    op.writes.push_back(of(b_.gradient_sums, s));
    if (!activates(s)) return;
    op.reads.push_back(activation(s));
    op.writes.push_back(gradient(s));
  }

  void backward_input(int s) {
    Op& op = add(OpKind::backward_input, kCompute, s);
    op.micro = micro_;
    if (sums_gradients(s)) after_statistics(op);
    if (reads_output(s)) op.reads.push_back(activation(s));
    op.reads.push_back(gradient(s));
    if (activates(s) && !is(s, Kind::batch_norm)) op.writes.push_back(gradient(s));
    if (s > first()) {
      if (has_parameters(s)) op.reads.push_back(segment_of(b_.parameters, s));
      if (is(s, Kind::batch_norm) || is(s, Kind::max_pool)) op.reads.push_back(activation(s - 1));
      if (is(s, Kind::batch_norm)) op.reads.insert(op.reads.end(), {of(b_.sums, s), of(b_.gradient_sums, s)});
      if (is(s, Kind::dropout)) with_numbers(op);
      if (of(b_.partial_gradients, s).buffer.valid()) op.writes.push_back(rows(of(b_.partial_gradients, s), segment(s).inputs));
      give(op, s - 1, segment(s).accumulates);
    }
    if (segment(s).addend >= first()) give(op, segment(s).addend, segment(s).addend_accumulates);
    op.flops = samples_ * (s > first() ? segment(s).backward_input_flops() : segment(s).outputs);
  }

  // Writes the gradient at a segment's output, or adds to it.
  void give(Op& op, int to, bool accumulates) {
    if (accumulates) op.reads.push_back(gradient(to));
    op.writes.push_back(gradient(to));
  }

  void zero(int s, std::int32_t bucket) {
    Op& op = add(OpKind::zero, kCompute, s);
    op.writes = {segment_of(b_.gradients, s), {b_.local_norms.buffer, s, 1}};
    if (s == last()) op.writes.push_back(b_.metrics);
    if (sums_gradients(s)) op.writes.push_back(of(b_.gradient_sums, s));
    if (reduces_gradients()) after_last_reduction(op, bucket);
  }

  void zero_sums(int s) {
    Op& op = add(OpKind::zero, kCompute, s);
    op.micro = micro_;
    op.writes = {of(b_.gradient_sums, s)};
  }

  void reduce(std::int32_t bucket) { compressed() ? reduce_encoded(bucket, 0) : all_reduce(b_.gradients, bucket); }
  void reduce_second_stages() {
    for (std::int32_t bucket = 0; compressed() && bucket < buckets(); ++bucket)
      if (r_.compression.encoded[static_cast<std::size_t>(bucket)].size() > 1) reduce_encoded(bucket, 1);
  }

  // Peers may read what the last step encoded until its collective is over on both sides.
  void reduce_encoded(std::int32_t bucket, std::size_t stage) {
    const Encoded& encoded = r_.compression.encoded[static_cast<std::size_t>(bucket)][stage];
    Op encode = strategy::encode(r_, bucket, stage);
    encode.lane = kCompute;
    encode.after = {{kComm, encoded.number + 1, 1}};
    if (stage > 0) encode.after.push_back({kComm, r_.compression.encoded[static_cast<std::size_t>(bucket)][0].number + 1, 0});
    ops_.push_back(std::move(encode));
    ++compute_ops_;
    collective(encoded.collective, kComm, r_.group, encoded.number, encoded.whole);
  }

  // What follows on the lane has the reduced gradient.
  void decode_before(int s, std::int32_t bucket) {
    if (!compressed() || s != span_of(bucket).last_segment) return;
    Op op = strategy::decode(r_, bucket);
    op.lane = kCompute;
    op.after = {{kComm, r_.compression.encoded[static_cast<std::size_t>(bucket)].back().number + 1, 0}};
    ops_.push_back(std::move(op));
    ++compute_ops_;
  }

  void all_reduce(const Access& of, std::int32_t bucket) {
    collective(OpKind::all_reduce, kComm, r_.group, bucket, {of.buffer, span_of(bucket).first, span_of(bucket).count});
  }

  // Of what compute has made so far.
  void collective(OpKind kind, LaneId lane, std::int32_t group, std::int32_t number, const Access& whole) {
    Op& op = add(kind, lane);
    op.bucket = number;
    op.group = group;
    op.reads = op.writes = {whole};
    op.after = {{kCompute, compute_ops_, 0}};
  }

  void after_reduction(Op& op, std::int32_t bucket) {
    if (reduces_gradients() && !compressed()) op.after = {{kComm, bucket + 1, 0}};
  }

  void clip() {
    for_each_segment([&](int s, std::int32_t bucket) {
      decode_before(s, bucket);
      if (!has_parameters(s)) return;
      Op& op = add(OpKind::norm, kCompute, s);
      op.reads = {segment_of(b_.gradients, s)};
      op.writes = {{b_.reduced_norms.buffer, s, 1}};
      op.flops = 2 * segment(s).elements;
      after_reduction(op, bucket);
    });
    Op& op = add(OpKind::clip, kCompute);
    op.reads = {b_.reduced_norms};
    op.writes = {b_.factor};
  }

  void update(int s, std::int32_t bucket) {
    Op& op = add(OpKind::update, kCompute, s);
    op.reads = {segment_of(b_.gradients, s), b_.rate, segment_of(b_.parameters, s)};
    op.writes = {segment_of(b_.parameters, s), {b_.statistics.buffer, 3 * s, 3}};
    for (const Access& moment : b_.moments) {
      op.reads.push_back(segment_of(moment, s));
      op.writes.push_back(segment_of(moment, s));
    }
    if (b_.factor.buffer.valid()) op.reads.push_back(b_.factor);
    op.flops = segment(s).elements * (b_.moments.size() == 2 ? 16 : 6);
    averages_weights() ? after_last_reduction(op, bucket) : after_reduction(op, bucket);
  }

  void weigh(int s) {
    Op& op = add(OpKind::weigh, kCompute, s);
    op.reads = op.writes = {segment_of(b_.parameters, s)};
    op.flops = segment(s).elements;
  }

  const Replica& r_;
  const ReplicaBuffers& b_;
  const model::Model& model_;
  std::int64_t step_samples_, samples_;                           // of the step, and of its current micro-step
  std::int32_t micro_ = 0, last_micro_ = 0, last_own_micro_ = 0;  // the last of all ranks, and of this one: after it the rank has no samples
  std::vector<Op> ops_;
  std::int32_t compute_ops_ = 0, statistics_ops_ = 0;
  std::int32_t input_free_ = 0;    // compute ops after which nothing reads the input any more
  std::int32_t overwritten_ = -1;  // the bucket that was last written
  bool statistics_free_ = true;    // nobody reads the sums of the last micro-step any more
  bool trains_ = true;
};

}  // namespace

std::vector<Op> train(const Replica& replica, std::int64_t samples, std::int64_t most_samples) { return StepWriter(replica, samples).train(most_samples); }
std::vector<Op> evaluate(const Replica& replica, std::int64_t samples) { return StepWriter(replica, samples).evaluate(); }

}  // namespace trainyard::strategy
