// SPDX-License-Identifier: GPL-3.0-or-later
// Ops for units that are gathered and scattered (units.h), for a full model (fsdp) or a stage
// (mesh_step.h). If a rank keeps only its shard of the parameters, a unit is gathered before its
// layers compute, some units ahead. Gradients of a unit are reduce-scattered after the pass has
// finished the unit, and added to the shard's sum of earlier micro-steps. If gradients are
// accumulated in place, they are reduce-scattered only in the last micro-step.
//
// All ranks that shard units run the same passes in the same order, with or without samples.
#pragma once

#include <deque>

#include "core/experiment/cells.h"
#include "core/strategy/group_lane.h"
#include "core/strategy/shard_ops.h"

namespace trainyard::strategy {

class UnitOps : protected ShardOps {
 protected:
  // `shards`: null without sharding. `line`: group and lane of the ranks that shard.
  // `micro_batches`: number of samples of each micro-batch of a step. The rank processes the
  // micro-batches of its `callers`.
  UnitOps(const Replica& replica, const Shards* shards, const Line& line,
          const std::vector<std::int64_t>& micro_batches,
          const experiment::CallerSet& callers = {});

  std::int64_t samples_of(std::int32_t micro) const {
    return micro_batches_[static_cast<std::size_t>(micro)];
  }

  // Kinds of collectives. Each kind except `norms` has one collective per unit. `norms` has two
  // collectives, one for gradient norms and one for the statistics of updates, which do not belong
  // to a unit.
  enum class UnitWay { forward, backward, gradients, replicas, norms };
  std::int32_t unit_number(UnitWay way, std::int32_t unit) const {
    return static_cast<std::int32_t>(way) * units().count() + unit;
  }

  void add(Op op) { ops_.push_back(std::move(op)); }
  void collective(OpKind kind, const Line& line, std::int32_t number, const Access& whole) {
    add(collective_op(kind, line, number, whole));
  }

  // `begin_pass` begins a pass through consecutive segments. Then `gather_for` must be called for
  // each segment of the pass, in order; it gathers the parameters of the segment.
  void begin_pass(UnitPass pass, int first_segment, int last_segment);
  void gather_for(int s);

  // For gradients, `free_gradient_slot` must be called before each segment's backward pass and
  // `sum_gradient` after it, from the last segment to the first.
  void free_gradient_slot(int s);
  void sum_gradient(int s);
  void keep_shards();  // adds the rank's shards of all sums to its gradients
  // sums the gradients of the rank's shards over all ranks that hold the same shards
  void sum_shards(const Line& alike);

  // True if micro-steps add to the segment's gradient in place.
  bool accumulates_gradient(int s) const {
    return shards_ == nullptr ? !learns_each_
                              : units().gradients.stays(units().of(model_.owner(s)));
  }
  // True if at some time of the step the rank holds its full local gradient, so that the norm of
  // this gradient can be reported.
  bool leaves_norms() const {
    return shards_ == nullptr || !units().scatters || taken_.size() == 1;
  }
  // Returns an op for a micro-step without samples. The op zeroes the segment's gradient, unless
  // the gradient already holds the sum of earlier micro-steps.
  Op zero_gradient(int s) const;
  bool is_last_micro_step() const { return micro_ == taken_.back(); }
  bool is_last_with_samples() const { return micro_ == last_with_samples_; }

  void gather_updated();  // gathers all parameters, each shard from the rank that updated it

  std::vector<Op> ops_;
  const std::vector<std::int64_t>& micro_batches_;
  std::vector<std::int32_t> taken_;  // micro-batches that this rank processes
  bool learns_each_ = false;         // each micro-batch has a separate gradient and update

 private:
  struct Summed {
    std::int32_t unit = 0;
    bool adds = false;  // true: adds to the sum of earlier micro-steps; false: overwrites the sum
  };

  void gather(std::int32_t u);
  void keep_own_part();
  Access moved(const Access& flat, std::int32_t u, const std::vector<std::int64_t>& by) const;
  Access parameters_of(std::int32_t u) const { return moved(b_.parameters, u, parameter_offsets_); }
  Access gradients_of(std::int32_t u) const { return moved(b_.gradients, u, moved_gradients_); }

  Line line_;
  std::int32_t last_with_samples_ = -1;
  UnitPass pass_ = UnitPass::forward;
  std::vector<std::int32_t> in_pass_;  // units, in order of the pass
  // number of units, counted from the first one in `in_pass_`, that are already gathered
  // (`ahead_`), and that are in use or finished (`begun_`)
  std::size_t ahead_ = 0, begun_ = 0;
  // units whose gradient is reduce-scattered, but not yet added to the gradients of the rank's
  // shards
  std::deque<Summed> summed_;
};

}  // namespace trainyard::strategy
