// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/strategy/order.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/plan/overlap.h"

namespace trainyard::strategy {
namespace {

using plan::Access;
using plan::Dependency;
using plan::Op;

// Access of an op to a buffer. `sequence`: position of the op on its lane, from 1.
struct OrderedTouch {
  Access access;
  bool writes = false;
  plan::LaneId lane;
  std::int32_t sequence = 0;
  // true for an all-gather, which must also wait for earlier ops of its own lane, because peers may
  // still read parts of the span that it overwrites
  bool gathers = false;

  bool conflicts(const OrderedTouch& other) const {
    return (lane != other.lane || gathers) && (writes || other.writes) &&
           plan::overlap(access, other.access);
  }
  bool same_place(const OrderedTouch& other) const {
    return access == other.access && writes == other.writes && lane == other.lane;
  }
};

// Latest accesses to each span of each buffer. Covers the ops of a program that were added so far.
class Touches {
 public:
  explicit Touches(std::size_t buffers) : by_buffer_(buffers) {}

  template <class Visit>
  void for_conflicts(const OrderedTouch& touch, Visit visit) const {
    for (const OrderedTouch& other : by_buffer_[touch.access.buffer.index()])
      if (touch.conflicts(other)) visit(other);
  }

  void add(const OrderedTouch& touch) {
    auto& list = by_buffer_[touch.access.buffer.index()];
    const auto at = std::find_if(list.begin(), list.end(), [&](const OrderedTouch& known) {
      return known.same_place(touch);
    });
    if (at == list.end()) list.push_back(touch);
    else at->sequence = std::max(at->sequence, touch.sequence);
  }

 private:
  std::vector<std::vector<OrderedTouch>> by_buffer_;
};

// Returns the accesses of an op. In a broadcast, the root only reads, and all others only write.
std::vector<OrderedTouch> touches_of(const Op& op, std::int32_t rank, std::int32_t sequence) {
  std::vector<OrderedTouch> list;
  const bool broadcasts = op.kind == plan::OpKind::broadcast,
             gathers = op.kind == plan::OpKind::all_gather;
  for (const Access& read : op.reads)
    if (read.count > 0 && !(broadcasts && op.peer != rank))
      list.push_back({read, false, op.lane, sequence, gathers});
  for (const Access& write : op.writes)
    if (write.count > 0 && !(broadcasts && op.peer == rank))
      list.push_back({write, true, op.lane, sequence, gathers});
  return list;
}

// Dependencies that a lane already has, because its next op or an earlier op of the lane has them.
// A dependency on a collective is of one of two kinds. An op that reads the result waits for the
// receives of the collective. An op that overwrites the result also waits until peers have read the
// sends (collective/expand.h). So neither kind implies the other.
class WaitsOfLanes {
 public:
  explicit WaitsOfLanes(const plan::RankPlan& rank) : rank_(rank), known_(rank.lanes.size()) {}

  void here(Op& op, const OrderedTouch& own, const OrderedTouch& other) {
    wait(op, own.writes, {other.lane, other.sequence, 0});
  }

  // Adds a dependency on an op of the previous step. A dependency on a lane in this step implies
  // that the lane's ops of earlier steps are complete. Expansion renumbers the ops of a
  // communication lane, so the op waits for all ops of such a lane in the previous step.
  void before(Op& op, const OrderedTouch& own, const OrderedTouch& other) {
    if (known_[op.lane.index()].contains(
            {other.lane.value, 0, own.writes && communicates(other.lane)}))
      return;
    wait(op, own.writes,
         {other.lane, communicates(other.lane) ? Dependency::end : other.sequence, 1});
  }

 private:
  static bool further(std::int32_t sequence, std::int32_t than) {
    return than != Dependency::end && (sequence == Dependency::end || sequence > than);
  }
  bool communicates(plan::LaneId lane) const {
    return rank_.lanes[lane.index()].kind == plan::LaneKind::comm;
  }

  void wait(Op& op, bool writes, const Dependency& dependency) {
    const auto [at, fresh] = known_[op.lane.index()].try_emplace(
        {dependency.lane.value, dependency.steps_back, writes && communicates(dependency.lane)},
        dependency.sequence);
    if (!fresh && !further(dependency.sequence, at->second)) return;
    at->second = dependency.sequence;
    const auto same = std::find_if(op.after.begin(), op.after.end(), [&](const Dependency& d) {
      return d.lane == dependency.lane && d.steps_back == dependency.steps_back;
    });
    if (same == op.after.end()) op.after.push_back(dependency);
    else if (further(dependency.sequence, same->sequence)) same->sequence = dependency.sequence;
  }

  const plan::RankPlan& rank_;
  // For each lane: the last op of another lane that it already waits for. Key: the other lane, how
  // many steps earlier, and whether the lane also waits for peers.
  std::vector<std::map<std::tuple<std::int32_t, std::int32_t, bool>, std::int32_t>> known_;
};

// Calls `visit(op, index of the op on its lane)` in program order.
template <class Ops, class Visit>
void for_each_op(std::size_t lanes, Ops& ops, Visit visit) {
  std::vector<std::int32_t> count(lanes);
  for (auto& op : ops) visit(op, ++count[op.lane.index()]);
}

void order(const plan::RankPlan& rank, const Touches& of_all, plan::Program& program) {
  Touches so_far(rank.buffers.size());
  WaitsOfLanes waits(rank);
  for_each_op(rank.lanes.size(), program.ops, [&](Op& op, std::int32_t sequence) {
    const std::vector<OrderedTouch> own = touches_of(op, rank.rank, sequence);
    for (const OrderedTouch& touch : own)
      so_far.for_conflicts(touch, [&](const OrderedTouch& other) { waits.here(op, touch, other); });
    for (const OrderedTouch& touch : own)
      of_all.for_conflicts(touch,
                           [&](const OrderedTouch& other) { waits.before(op, touch, other); });
    for (const OrderedTouch& touch : own) so_far.add(touch);
  });
}

}  // namespace

void order_by_data(plan::RankPlan& rank) {
  Touches of_all(rank.buffers.size());  // latest accesses by any program
  for (const plan::Program& program : rank.programs)
    for_each_op(rank.lanes.size(), program.ops, [&](const Op& op, std::int32_t sequence) {
      for (const OrderedTouch& touch : touches_of(op, rank.rank, sequence)) of_all.add(touch);
    });
  for (plan::Program& program : rank.programs) order(rank, of_all, program);
}

}  // namespace trainyard::strategy
