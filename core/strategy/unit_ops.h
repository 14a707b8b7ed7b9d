// SPDX-License-Identifier: GPL-3.0-or-later
// Units that come and go (units.h), for whoever passes layers forward and back: a whole model
// (fsdp), or one of its stages (mesh_step.h). Parameters of a unit are gathered before its layers
// compute, some units ahead of the pass, where a rank has but its part of them. Gradients of a unit
// are reduce-scattered once the pass is through with it, and added to what earlier micro-steps left
// of the rank's part; or, where they are added up in place, in the last micro-step.
//
// All ranks that share units out take the same passes in the same order, whether they have samples
// or not.
#pragma once

#include <deque>

#include "core/experiment/cells.h"
#include "core/strategy/line.h"
#include "core/strategy/own_part_ops.h"

namespace trainyard::strategy {

class UnitOps : protected OwnPartOps {
 protected:
  // `shards`: null where nothing is shared out, and nothing comes or goes; `line` leads to those
  // who share. `micro_batches`: of a step, by number, their samples; the rank takes those of
  // `callers`.
  UnitOps(const Replica& replica, const Shards* shards, const Line& line,
          const std::vector<std::int64_t>& micro_batches, const experiment::Callers& callers = {});

  std::int64_t samples_of(std::int32_t micro) const {
    return micro_batches_[static_cast<std::size_t>(micro)];
  }

  // Each unit has a collective each way; after those come two that are of no unit.
  enum class UnitWay { forward, backward, gradients, replicas, norms };
  std::int32_t unit_number(UnitWay way, std::int32_t unit) const {
    return static_cast<std::int32_t>(way) * units().count() + unit;
  }

  void add(Op op) { ops_.push_back(std::move(op)); }
  void collective(OpKind kind, const Line& line, std::int32_t number, const Access& whole) {
    add(collective_op(kind, line, number, whole));
  }

  // A pass through segments in a row; then, before each of them in its order, what is to be there
  // for it.
  void begin_pass(UnitPass pass, int first_segment, int last_segment);
  void gather_for(int s);

  // What segments learn: before and after each, from the last to the first.
  void take_place_of_gradient(int s);
  void sum_gradient(int s);
  void keep_own_parts();  // of all that is summed
  void sum_own_parts(
      const Line& alike);  // with whoever has the same parts, and shares them out with others

  // Whether what a segment learns is added to what earlier micro-steps left there.
  bool adds_up(int s) const {
    return shards_ == nullptr ? !learns_each_
                              : units().gradients.stays(units().of(model_.owner(s)));
  }
  // Whether the rank's own gradient of the step is anywhere whole, so that its norm can be told.
  bool leaves_norms() const {
    return shards_ == nullptr || !units().scatters || taken_.size() == 1;
  }
  // Of a micro-step without samples: gradients of zero, where others do not stand there.
  Op learn_nothing(int s) const;
  bool is_last_micro_step() const { return micro_ == taken_.back(); }
  bool learns_last() const { return micro_ == last_with_samples_; }

  void gather_updated();  // all parameters, each part by whom it was updated

  std::vector<Op> ops_;
  const std::vector<std::int64_t>& micro_batches_;
  std::vector<std::int32_t> taken_;  // micro-batches that the rank takes
  bool learns_each_ = false;         // each has a gradient of its own

 private:
  struct Summed {
    std::int32_t unit = 0;
    bool adds = false;  // to what earlier micro-steps left
  };

  void gather(std::int32_t u);
  void keep_own_part();
  Access moved(const Access& flat, std::int32_t u, const std::vector<std::int64_t>& by) const;
  Access parameters_of(std::int32_t u) const { return moved(b_.parameters, u, moved_parameters_); }
  Access gradients_of(std::int32_t u) const { return moved(b_.gradients, u, moved_gradients_); }

  Line line_;
  std::int32_t last_with_samples_ = -1;
  UnitPass pass_ = UnitPass::forward;
  std::vector<std::int32_t> in_pass_;  // units, in its order
  std::size_t ahead_ = 0, begun_ = 0;  // of these: gathered, and at work or through
  std::deque<Summed> summed_;          // of whose sums the rank has not kept its part yet
};

}  // namespace trainyard::strategy
