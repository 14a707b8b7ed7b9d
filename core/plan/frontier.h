// SPDX-License-Identifier: GPL-3.0-or-later
// The frontier of a rank decides which of its ops may start next. Interpreter, simulator and
// checker share this rule. The frontier does not check whether data has arrived; the transport (or
// its model) does.
//
// `admit` adds an instance, which is one execution of a program; a training step is one instance.
// Each lane works through the instances in order. It may start the next one while other lanes are
// still in earlier ones, as far as dependencies allow. Threads: one thread uses a lane; different
// lanes may be used by different threads; one thread calls `admit`.
//
// Only the last `window` instances are kept. So a dependency may reach at most window - 2 instances
// back (`check` verifies this). A lane that has no ops in an instance moves past it only when
// `next` is called for the lane, so callers must call `next` for every lane.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/plan/plan.h"

namespace trainyard::plan {

class Frontier {
 public:
  static constexpr int window = 8;  // maximum number of instances that are kept

  explicit Frontier(const RankPlan& plan);

  // Adds an instance of `program` for `step`. Returns false if `window` instances are in use; then
  // an earlier one must complete first.
  bool admit(int program, std::int64_t step);

  struct Ready {
    int program = 0;
    int op = 0;  // index in the program
    std::int64_t step = 0;
    std::int64_t instance = 0;
    std::int64_t sequence = 0;  // index of the op on its lane, counted over all instances
  };
  // Returns the op that may start now on this lane, or nothing. Does not change any state.
  std::optional<Ready> next(LaneId lane) const;
  // Like `next`, for a lane whose device runs ops in order (a stream). It may return an op while
  // earlier ops of the lane in the same instance are unfinished, because the device executes ops of
  // the lane in order.
  std::optional<Ready> next_in_order(LaneId lane) const;
  void start(LaneId lane);  // marks the op that `next` returned as started
  // marks an op as complete; ops of one round may finish in any order
  void finish(LaneId lane, const Ready& ready);

  std::int64_t admitted() const { return admitted_.load(std::memory_order_acquire); }
  // True if all ops of instance number `instance` are complete. It must be one of the last `window`
  // instances.
  bool instance_complete(std::int64_t instance) const;
  // number of completed ops of the lane, over all instances
  std::int64_t completed(LaneId lane) const;

 private:
  // Program whose ops are grouped by lane.
  struct CompiledProgram {
    std::vector<std::vector<int>> lane_ops;  // indices of ops in the program, in order, by lane
    // dependencies of all ops, and for each op the index of its first one; a last index follows
    std::vector<Dependency> after;
    std::vector<std::uint32_t> first_after;
    // by op: key of its round, or -1 if it has none; ops with the same key may run at the same time
    std::vector<std::int64_t> round;
  };
  struct Instance {
    int program = 0;
    std::int64_t step = 0;
    std::vector<std::int64_t> base;  // number of the lane's ops before this instance, by lane
  };
  struct alignas(64) LaneState {
    // number of completed ops at the front of the lane, before its first incomplete op
    std::atomic<std::int64_t> completed{0};
    std::atomic<std::int64_t> instance{0};  // current instance of the lane
    // The members below are used by the lane's thread only.
    std::int64_t started = 0;
    std::uint64_t finished_ahead = 0;  // bit i: op number completed + i is complete
    std::size_t position = 0;          // position in the current instance's ops
    // round and instance of the op that was started last
    std::int64_t open_round = -1, open_instance = -1;
  };

  const Instance& at(std::int64_t instance) const {
    return instances_[static_cast<std::size_t>(instance % window)];
  }
  const std::vector<int>& ops_of(std::int64_t instance, std::size_t lane) const {
    return programs_[static_cast<std::size_t>(at(instance).program)].lane_ops[lane];
  }
  bool has_current(LaneState& state, std::size_t lane) const;
  bool met(const Dependency& dependency, std::int64_t instance) const;
  bool may_join(const LaneState& state, std::int64_t round, std::int64_t instance,
                bool in_order) const;
  std::optional<Ready> next(LaneId lane, bool in_order) const;

  std::vector<CompiledProgram> programs_;
  std::array<Instance, window> instances_;
  std::atomic<std::int64_t> admitted_{0};
  std::int64_t furthest_back_ = 0;
  mutable std::vector<LaneState> lanes_;
};

}  // namespace trainyard::plan
