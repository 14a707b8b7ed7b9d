// SPDX-License-Identifier: GPL-3.0-or-later
// Creates the ops of a micro-step, and of the update after the last one, with accesses and flops.
// The caller adds dependencies.
#pragma once

#include "core/strategy/replica_spans.h"

namespace trainyard::strategy {

class ReplicaOps : protected ReplicaSpans {
 protected:
  using Op = plan::Op;
  using OpKind = plan::OpKind;

  using ReplicaSpans::ReplicaSpans;

  Op load() const;  // loads all inputs of a replica
  Op rate() const;
  Op count(std::int32_t update) const;  // returns the op that counts one more update in the step
  Op statistics(int s) const;
  Op forward(int s) const;
  Op recompute(int s) const;  // recomputes the output of forward
  Op loss() const;
  Op backward_input(int s) const;
  // returns the op of the weight gradient; the caller adds `with_sum` if the op accumulates
  Op backward_weight(int s, bool last_of_step) const;
  void with_sum(Op& op) const;
  Op norm(int s) const { return norm(s, segment_of(b_.gradients, s)); }
  Op norm(int s, const Access& gradient) const;
  Op clip() const;
  Op update(int s) const;
  Op update(int s, const Access& gradient, const Access& parameters,
            const std::vector<Access>& moments) const;

  Op zero(const Access& span) const;  // fills the span with zeros
  // returns an op of this kind for this micro-step, on the compute lane and without buffer accesses
  Op op_of(OpKind kind, int segment) const;

  // Calls `add(op)` with the ops that recompute freed outputs before the backward pass of segment
  // `s`. They recompute the outputs of consecutive segments, of which `s` is the last.
  template <class Add>
  void add_recomputation(int s, Add add) const {
    if (const experiment::Run* run = r_.recomputation.ending_with(s))
      for (const int t : run->again) add(recompute(t));
  }

  // True if the segment has a backward op for its input gradient (B). For batch norm, the op for
  // the weight gradient (W) runs before B, because B uses the sums that W computes.
  bool needs_backward_input(int s) const {
    return s > first() || (s == first() && activates(s)) || shards_columns(s);
  }
  bool adds_weight(int s) const {
    return micro_ > first_micro_ || adds_to_tied(s);
  }  // true if the segment accumulates into the gradient

 private:
  Op pass(OpKind kind, int s) const;
  void with_running(Op& op) const;
  void with_numbers(Op& op) const;
  void normalized_backward_weight(Op& op) const;
  void give(Op& op, int to, bool accumulates) const;
};

}  // namespace trainyard::strategy
