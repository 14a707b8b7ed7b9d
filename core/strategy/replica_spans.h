// SPDX-License-Identifier: GPL-3.0-or-later
// Accesses of the ops of a micro-step, and properties of its segments.
#pragma once

#include <algorithm>

#include "core/model/local_model.h"
#include "core/strategy/replica_step.h"

namespace trainyard::strategy {

class ReplicaSpans {
 public:
  using Kind = model::LayerKind;
  using Access = plan::Access;

  explicit ReplicaSpans(const Replica& replica)
      : r_(replica), b_(replica.buffers), model_(replica.resolved.model) {}

  bool clips() const { return b_.factor.buffer.valid(); }
  bool averages_weights() const { return r_.averages_weights; }
  bool reduces_gradients() const { return r_.group >= 0 && !averages_weights(); }

  const model::Segment& segment(int s) const {
    return model_.segments[static_cast<std::size_t>(s)];
  }
  const Bucket& span_of(std::int32_t number) const {
    return r_.buckets[static_cast<std::size_t>(number)];
  }
  std::int32_t buckets() const { return static_cast<std::int32_t>(r_.buckets.size()); }
  bool compressed() const {
    return !r_.compression.encoded.empty();
  }  // if true, communication transfers encoded data, never gradients
  int last() const { return static_cast<int>(model_.segments.size()) - 1; }
  // returns the first segment with parameters; segments before it need no gradient
  int first() const { return model_.first_with_parameters; }
  bool is(int s, Kind kind) const { return segment(s).kind == kind; }
  bool has_parameters(int s) const { return segment(s).elements > 0; }
  bool computes_by_parameters(int s) const { return model_.owner(segment(s)).elements > 0; }
  bool is_tied(int s) const { return segment(s).tied_to >= 0; }
  // True if a segment tied to this one has already written its term of their common gradient.
  bool adds_to_tied(int s) const {
    return std::any_of(
        model_.segments.begin(), model_.segments.end(),
        [s](const model::Segment& other) { return other.tied_to == s && !other.apart; });
  }
  // True if no other segment of this rank writes the same gradient: the segment is not tied, or the
  // segment tied to it is on another rank.
  bool has_separate_gradient(int s) const {
    return has_parameters(s) || (is_tied(s) && segment(s).apart);
  }
  bool activates(int s) const { return segment(s).activation != compute::Activation::none; }
  bool synchronizes() const { return r_.statistics.group >= 0; }
  std::int32_t number_of_sums(int s) const {
    return r_.statistics.numbers[static_cast<std::size_t>(s)];
  }
  bool synchronizes(int s) const { return trains_ && synchronizes() && number_of_sums(s) >= 0; }
  bool shards_columns(int s) const {
    return r_.shards_columns() && s == 0;
  }  // if true, the segment computes the rows of all ranks
  bool sums_gradients(int s) const {
    return synchronizes(s) && s > first();
  }  // if true, the input gradient depends on the samples of all ranks
  bool reads_output(int s) const { return model::backward_needs_output(segment(s)); }
  bool reads_input(int s) const { return model::backward_needs_input(segment(s)); }
  static const Access& of(const std::vector<Access>& by_segment, int s) {
    return by_segment[static_cast<std::size_t>(s)];
  }

  // Returns the slot of the current micro-step in a buffer that may have several slots. `room`:
  // number of elements of a slot.
  Access in_slot(const Access& buffer, std::int64_t room, std::int64_t count) const {
    return {buffer.buffer, micro_ % r_.slots_of(buffer.buffer) * room, count};
  }
  Access rows(const Access& buffer, std::int64_t width) const {
    return in_slot(buffer, r_.resolved.document.training.batch_per_rank * width, samples_ * width);
  }
  Access segment_of(const Access& flat, int s) const {
    return {flat.buffer, first_in(flat.buffer, s), model_.owner(segment(s)).elements};
  }
  Access activation(int s) const {
    return s < 0 ? rows(b_.input, model_.features)
                 : rows(b_.activations[static_cast<std::size_t>(s)], segment(s).outputs);
  }
  Access gradient(int s) const {
    return rows(b_.activation_gradients[static_cast<std::size_t>(s)], segment(s).outputs);
  }
  Access labels() const { return rows(b_.labels, model_.labels()); }
  Access sample_numbers() const { return rows(b_.sample_numbers, 1); }
  Access sums(int s) const {
    return in_slot(of(b_.sums, s), 2 * segment(s).channels() + 1, 2 * segment(s).channels() + 1);
  }

  // Returns a segment's offset in a flat buffer. This is its offset in the model, unless the
  // segment's unit is gathered to another position in the buffer.
  std::int64_t first_in(plan::BufferId flat, int s) const {
    const std::vector<std::int64_t>& moved =
        flat == b_.gradients.buffer ? moved_gradients_ : parameter_offsets_;
    const bool may_move = flat == b_.gradients.buffer || flat == b_.parameters.buffer;
    return segment(s).first +
           (may_move && !moved.empty() ? moved[static_cast<std::size_t>(model_.owner(s))] : 0);
  }

 protected:
  const Replica& r_;
  const ReplicaBuffers& b_;
  const model::Model& model_;
  std::int32_t micro_ = 0,
               first_micro_ = 0;  // current micro-step; first micro-step that the rank processes
  std::int64_t samples_ = 0;      // samples of this rank in the current micro-step
  bool trains_ = true;
  std::vector<std::int64_t> parameter_offsets_,
      // offset of each segment in the buffer minus its offset in the model; empty if all
      // differences are 0
      moved_gradients_;
};

}  // namespace trainyard::strategy
