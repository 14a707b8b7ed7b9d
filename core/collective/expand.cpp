// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/collective/expand.h"

#include <algorithm>
#include <map>

namespace trainyard::collective {
namespace {

using plan::Access;
using plan::Dependency;
using plan::LaneId;
using plan::LaneKind;
using plan::Op;
using plan::OpKind;
using plan::Program;
using plan::RankPlan;

bool overlap(const Access& a, const Access& b) { return a.buffer == b.buffer && a.first < b.first + b.count && b.first < a.first + a.count; }

bool any_overlap(const std::vector<Access>& some, const std::vector<Access>& others) {
  return std::any_of(some.begin(), some.end(),
                     [&](const Access& a) { return std::any_of(others.begin(), others.end(), [&](const Access& b) { return overlap(a, b); }); });
}

OpKind kind_of(StepKind kind) {
  switch (kind) {
    case StepKind::send: return OpKind::send;
    case StepKind::recv: return OpKind::recv;
    case StepKind::recv_reduce: return OpKind::recv_reduce;
    case StepKind::reduce_many: return OpKind::reduce_many;
  }
  return OpKind::send;
}

// Keeps the furthest sequence asked of each lane and distance back.
void add_dependency(std::vector<Dependency>& after, Dependency added) {
  for (Dependency& known : after)
    if (known.lane == added.lane && known.steps_back == added.steps_back) {
      if (known.sequence != Dependency::end) known.sequence = added.sequence == Dependency::end ? Dependency::end : std::max(known.sequence, added.sequence);
      return;
    }
  after.push_back(added);
}

// The lanes of a rank after expansion: a comm lane's number becomes the send lane's, its receive lane is appended.
struct Lanes {
  std::vector<plan::Lane> lanes;
  std::map<std::int32_t, LaneId> receive_of;  // by the comm lane's number

  explicit Lanes(const std::vector<plan::Lane>& coarse) : lanes(coarse) {
    for (std::size_t l = 0; l < coarse.size(); ++l) {
      if (coarse[l].kind != LaneKind::comm) continue;
      const std::string group = "g" + std::to_string(coarse[l].group);
      lanes[l] = {"send." + group, LaneKind::send, coarse[l].group};
      receive_of[static_cast<std::int32_t>(l)] = LaneId(lanes.size());
      lanes.push_back({"recv." + group, LaneKind::recv, coarse[l].group});
    }
  }
  bool was_comm(LaneId lane) const { return receive_of.contains(lane.value); }
};

// Expands one program of one rank.
class Expansion {
 public:
  Expansion(const RankPlan& coarse, const Program& program, const std::vector<plan::Group>& groups, Algorithm algorithm, const Lanes& lanes)
      : coarse_(coarse),
        groups_(groups),
        algorithm_(algorithm),
        lanes_(lanes),
        count_(lanes.lanes.size()),
        result_{program.name, program.samples, program.global_samples, program.repeats, {}} {
    for (const Op& op : program.ops) {
      if (op.kind == OpKind::all_reduce) reduced_[op.lane.value].push_back({0, 0, op.writes});
      at_.push_back(&op);
    }
  }

  Program run() {
    for (const Op* op : at_) op->kind == OpKind::all_reduce ? add_all_reduce(*op) : add_plain(*op);
    for (std::size_t i = 0; i < result_.ops.size(); ++i) map_dependencies(result_.ops[i]);
    return std::move(result_);
  }

 private:
  struct Reduced {  // where an all-reduce of a comm lane ended, and what it wrote
    std::int32_t sends = 0, receives = 0;
    std::vector<Access> writes;
  };
  struct Touch {
    LaneId lane;
    std::int32_t done;  // sequence at which the op is complete
    bool writes;
  };

  std::int32_t push(Op op) {
    const std::int32_t done = ++count_[op.lane.index()];
    result_.ops.push_back(std::move(op));
    return done;
  }

  void add_plain(const Op& op) { push(op); }

  void add_all_reduce(const Op& op) {
    const plan::Group& group = groups_[static_cast<std::size_t>(op.group)];
    const int members = static_cast<int>(group.ranks.size());
    const Rounds rounds = all_reduce(algorithm_, members, group.position(coarse_.rank));
    touched_.assign(static_cast<std::size_t>(chunks(algorithm_, members)), {});
    for (std::size_t t = 0; t < rounds.size(); ++t)
      for (const Step& step : rounds[t]) add_step(op, group, step, static_cast<std::int32_t>(t));
    Reduced& reduced = reduced_[op.lane.value][seen_[op.lane.value]++];
    reduced.sends = count_[op.lane.index()];
    reduced.receives = count_[lanes_.receive_of.at(op.lane.value).index()];
  }

  void add_step(const Op& whole, const plan::Group& group, const Step& step, std::int32_t round) {
    Op op;
    op.kind = kind_of(step.kind);
    const bool sends = op.kind == OpKind::send;
    op.lane = sends ? whole.lane : lanes_.receive_of.at(whole.lane.value);
    op.bucket = whole.bucket;
    op.group = whole.group;
    op.round = round;
    op.chunk = step.chunk;
    op.peer = step.peer < 0 ? -1 : group.ranks[static_cast<std::size_t>(step.peer)];
    const Access bucket = whole.writes.front();
    const auto [first, count] = part(bucket.count, static_cast<int>(touched_.size()), step.chunk);
    const Access chunk{bucket.buffer, bucket.first + first, count};
    if (op.kind != OpKind::recv) op.reads = {chunk};
    if (!sends) op.writes = {chunk};
    if (op.kind == OpKind::recv_reduce) op.flops = count;
    if (op.kind == OpKind::reduce_many) op.flops = count * (static_cast<std::int64_t>(group.ranks.size()) - 1);
    order_after_touches(whole, op);
    auto& touches = touched_[static_cast<std::size_t>(step.chunk)];
    const LaneId lane = op.lane;
    touches.push_back({lane, push(std::move(op)), !sends});
  }

  // The first to touch a chunk comes after what the all-reduce came after; later ones after those they conflict with.
  void order_after_touches(const Op& whole, Op& op) {
    const auto& touches = touched_[static_cast<std::size_t>(op.chunk)];
    if (touches.empty()) coarse_after_[result_.ops.size()] = &whole.after;
    for (const Touch& touch : touches)
      if (touch.lane != op.lane && (touch.writes || !op.writes.empty())) add_dependency(op.after, {touch.lane, touch.done, 0});
  }

  // Coarse dependencies on a comm lane become ones on its two lanes.
  void map_dependencies(Op& op) {
    const auto index = static_cast<std::size_t>(&op - result_.ops.data());
    const auto own = coarse_after_.find(index);
    const bool chunk_op = plan::communicates(op.kind);
    const std::vector<Dependency> coarse = own != coarse_after_.end() ? *own->second : chunk_op ? std::vector<Dependency>{} : op.after;
    if (!chunk_op) op.after.clear();
    for (const Dependency& dependency : coarse) map_dependency(op, dependency);
  }

  void map_dependency(Op& op, const Dependency& dependency) {
    if (!lanes_.was_comm(dependency.lane)) return add_dependency(op.after, dependency);
    const auto& all = reduced_[dependency.lane.value];
    const bool to_end = dependency.sequence == Dependency::end;
    const std::size_t covered = to_end ? all.size() : std::min(all.size(), static_cast<std::size_t>(dependency.sequence));
    bool overwrites = false;
    for (std::size_t i = 0; i < covered; ++i) overwrites = overwrites || any_overlap(op.writes, all[i].writes);
    const Reduced last = covered > 0 ? all[covered - 1] : Reduced{};
    const LaneId receive = lanes_.receive_of.at(dependency.lane.value);
    add_dependency(op.after, {receive, to_end ? Dependency::end : last.receives, dependency.steps_back});
    if (overwrites) add_dependency(op.after, {dependency.lane, to_end ? Dependency::end : last.sends, dependency.steps_back});
  }

  const RankPlan& coarse_;
  const std::vector<plan::Group>& groups_;
  Algorithm algorithm_;
  const Lanes& lanes_;
  std::vector<const Op*> at_;
  std::vector<std::int32_t> count_;                                     // ops so far, by lane
  std::map<std::int32_t, std::vector<Reduced>> reduced_;                // by comm lane
  std::map<std::int32_t, std::size_t> seen_;                            // all-reduces so far, by comm lane
  std::vector<std::vector<Touch>> touched_;                             // by chunk, of the current all-reduce
  std::map<std::size_t, const std::vector<Dependency>*> coarse_after_;  // by new op: dependencies of its all-reduce
  Program result_;
};

}  // namespace

RankPlan expand(const RankPlan& coarse, const std::vector<plan::Group>& groups, Algorithm algorithm) {
  const Lanes lanes(coarse.lanes);
  RankPlan expanded{coarse.rank, lanes.lanes, coarse.buffers, {}};
  for (const Program& program : coarse.programs) expanded.programs.push_back(Expansion(coarse, program, groups, algorithm, lanes).run());
  return expanded;
}

plan::Plan expand(const plan::Plan& coarse, Algorithm algorithm) {
  return {coarse.ranks, coarse.groups, coarse.schedule,
          [rank_plan = coarse.rank_plan, groups = coarse.groups, algorithm](std::int32_t rank) { return expand(rank_plan(rank), groups, algorithm); }};
}

std::int64_t sent_bytes(const RankPlan& expanded, const Program& program) {
  std::int64_t bytes = 0;
  for (const Op& op : program.ops)
    if (op.kind == OpKind::send)
      for (const Access& read : op.reads) bytes += read.count * base::size_of(expanded.buffers[read.buffer.index()].dtype);
  return bytes;
}

}  // namespace trainyard::collective
