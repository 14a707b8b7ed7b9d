// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/strategy/edit.h"

#include <algorithm>

namespace trainyard::strategy {
namespace {

using plan::Access;
using plan::Dependency;
using plan::LaneId;
using plan::Op;

// Maps the old sequence number of an op on its lane to the number that it has after other ops are
// removed.
class Counts {
 public:
  void count(LaneId lane, bool is_left) {
    if (left_.size() <= lane.index()) left_.resize(lane.index() + 1, {0});
    auto& of_lane = left_[lane.index()];
    of_lane.push_back(of_lane.back() + (is_left ? 1 : 0));
  }
  std::int32_t left_of(LaneId lane, std::int32_t sequence) const {
    if (sequence == Dependency::end || lane.index() >= left_.size()) return sequence;
    const auto& of_lane = left_[lane.index()];
    return of_lane[std::min(static_cast<std::size_t>(sequence), of_lane.size() - 1)];
  }

 private:
  // number of kept ops up to and including an op, by lane and old sequence number
  std::vector<std::vector<std::int32_t>> left_;
};

template <class Visit>
void for_each_access(plan::RankPlan& rank, Visit visit) {
  for (plan::Program& program : rank.programs)
    for (Op& op : program.ops)
      for (auto* accesses : {&op.reads, &op.writes})
        for (Access& access : *accesses) visit(access);
}

}  // namespace

void drop_ops(plan::Program& program, const std::function<bool(const Op&)>& drops) {
  Counts counts;
  std::vector<Op> left;
  for (Op& op : program.ops) {
    const bool stays = !drops(op);
    counts.count(op.lane, stays);
    if (stays) left.push_back(std::move(op));
  }
  for (Op& op : left)
    for (Dependency& dependency : op.after)
      dependency.sequence = counts.left_of(dependency.lane, dependency.sequence);
  program.ops = std::move(left);
}

void drop_unused_buffers(plan::RankPlan& rank) {
  std::vector<bool> used(rank.buffers.size(), false);
  for_each_access(rank, [&](const Access& access) { used[access.buffer.index()] = true; });
  std::vector<plan::BufferId> now(rank.buffers.size());
  std::vector<plan::Buffer> left;
  for (std::size_t b = 0; b < used.size(); ++b) {
    if (!used[b]) continue;
    now[b] = plan::BufferId(left.size());
    left.push_back(std::move(rank.buffers[b]));
  }
  rank.buffers = std::move(left);
  for_each_access(rank, [&](Access& access) { access.buffer = now[access.buffer.index()]; });
}

LaneId add_comm_lane(plan::RankPlan& rank, std::int32_t group) {
  rank.lanes.push_back({"comm.g" + std::to_string(group), plan::LaneKind::comm, group});
  return LaneId(rank.lanes.size() - 1);
}

LaneId lane_of(const plan::RankPlan& rank, std::int32_t group) {
  const auto at = std::find_if(rank.lanes.begin(), rank.lanes.end(),
                               [&](const plan::Lane& lane) { return lane.group == group; });
  return at == rank.lanes.end() ? LaneId()
                                : LaneId(static_cast<std::size_t>(at - rank.lanes.begin()));
}

Access add_buffer(plan::RankPlan& rank, std::string name, base::DType dtype, std::int64_t elements,
                  bool shared) {
  rank.buffers.push_back({std::move(name), dtype, elements, shared});
  return {plan::BufferId(rank.buffers.size() - 1), 0, elements};
}

Access whole(const plan::RankPlan& rank, std::string_view buffer) {
  const plan::BufferId id = rank.buffer(buffer);
  return {id, 0, rank.buffers[id.index()].elements};
}

Op collective_op(plan::OpKind kind, LaneId lane, std::int32_t group, std::int32_t bucket,
                 const Access& span) {
  Op op;
  op.kind = kind;
  op.lane = lane;
  op.group = group;
  op.bucket = bucket;
  op.reads = op.writes = {span};
  return op;
}

Op rooted(plan::OpKind kind, LaneId lane, std::int32_t group, std::int32_t bucket,
          std::int32_t root, const Access& span) {
  Op op = collective_op(kind, lane, group, bucket, span);
  op.peer = root;
  return op;
}

}  // namespace trainyard::strategy
