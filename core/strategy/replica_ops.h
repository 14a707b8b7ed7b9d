// SPDX-License-Identifier: GPL-3.0-or-later
// The ops of a micro-step, and of the update after the last: what each reads, writes and takes.
// What it waits for, who puts them together says.
#pragma once

#include "core/strategy/replica_spans.h"

namespace trainyard::strategy {

class ReplicaOps : protected ReplicaSpans {
 protected:
  using Op = plan::Op;
  using OpKind = plan::OpKind;

  using ReplicaSpans::ReplicaSpans;

  Op load() const;  // all that a replica asks for
  Op rate() const;
  Op count(std::int32_t update) const;  // of the step: one update more
  Op statistics(int s) const;
  Op forward(int s) const;
  Op recompute(int s) const;  // what forward made, from what is left of it
  Op loss() const;
  Op backward_input(int s) const;
  Op backward_weight(int s, bool last_of_step) const;  // `with_sum` where it adds to what is there
  void with_sum(Op& op) const;
  Op norm(int s) const { return norm(s, segment_of(b_.gradients, s)); }
  Op norm(int s, const Access& gradient) const;
  Op clip() const;
  Op update(int s) const;
  Op update(int s, const Access& gradient, const Access& parameters,
            const std::vector<Access>& moments) const;

  Op zero(const Access& span) const;  // fills it with zeros
  Op op_of(OpKind kind, int segment)
      const;  // of this micro-step, on the compute lane; what it touches is yet to be said

  // Before the backward pass of a segment with which a run ends that gave outputs up: `add(op)`,
  // which makes them again.
  template <class Add>
  void make_again(int s, Add add) const {
    if (const experiment::Run* run = r_.recomputation.ending_with(s))
      for (const int t : run->again) add(recompute(t));
  }

  // Whether B has anything to do. A batch normalisation's gradient at its input follows from the
  // sums that make its weight's: there W comes first.
  bool passes_back(int s) const {
    return s > first() || (s == first() && activates(s)) || shares_columns(s);
  }
  bool adds_weight(int s) const {
    return micro_ > first_micro_ || adds_to_tied(s);
  }  // to the gradient that is there

 private:
  Op pass(OpKind kind, int s) const;
  void with_running(Op& op) const;
  void with_numbers(Op& op) const;
  void normalised_backward_weight(Op& op) const;
  void give(Op& op, int to, bool accumulates) const;
};

}  // namespace trainyard::strategy
