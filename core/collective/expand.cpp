// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/collective/expand.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>

#include "core/plan/overlap.h"

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

bool any_overlap(const std::vector<Access>& some, const std::vector<Access>& others) {
  return std::any_of(some.begin(), some.end(), [&](const Access& a) {
    return std::any_of(others.begin(), others.end(),
                       [&](const Access& b) { return overlap(a, b); });
  });
}

OpKind kind_of(StepKind kind) {
  switch (kind) {
    case StepKind::send: return OpKind::send;
    case StepKind::recv: return OpKind::recv;
    case StepKind::recv_reduce: return OpKind::recv_reduce;
    case StepKind::reduce_many:
    case StepKind::sum_to_scratch: return OpKind::reduce_many;
    case StepKind::copy_from_scratch: return OpKind::copy;
  }
  return OpKind::send;
}

// Adds a dependency to the list `after`. If the list has one with the same lane and `steps_back`,
// only the one with the higher sequence number remains, because ops of a lane run in order.
void add_dependency(std::vector<Dependency>& after, Dependency added) {
  for (Dependency& known : after)
    if (known.lane == added.lane && known.steps_back == added.steps_back) {
      if (known.sequence != Dependency::end)
        known.sequence = added.sequence == Dependency::end
                             ? Dependency::end
                             : std::max(known.sequence, added.sequence);
      return;
    }
  after.push_back(added);
}

// Returns the number of flops as which one addition counts. 16-bit operands are widened and the sum
// is rounded, which takes as long on a core as this many flops in matrix products (see
// encoding_flops in core/strategy/compression.cpp).
constexpr std::int64_t addition_flops(base::DType dtype) {
  switch (dtype) {
    case base::DType::fp16: return 220;
    case base::DType::bf16: return 60;
    default: return 1;
  }
}

// A collective to expand, on one bucket: maps the steps of its algorithm to ranks and elements.
struct Job {
  const Op& whole;
  const plan::Group& group;
  base::DType dtype;
  Rounds rounds;  // program of one segment
  int chunks = 1, segments = 1;

  std::int64_t row() const { return whole.row; }
  int last_round() const {
    return rounds.empty() ? 0 : static_cast<int>(rounds.size()) + segments - 1;
  }
  std::int32_t rank(int position) const { return group.ranks[static_cast<std::size_t>(position)]; }

  // Returns {first, count} of a step's elements, relative to the start of the bucket. The range
  // consists of full rows.
  std::pair<std::int64_t, std::int64_t> span(const Step& step, int segment) const {
    const auto [begin, length] = part(whole.writes.front().count / row(), segments, segment);
    const auto [first, count] = collective::span(step, length, chunks);
    return {(begin + first) * row(), count * row()};
  }
};

Job job_of(const Op& op, const RankPlan& rank, const std::vector<plan::Group>& groups,
           const Method& method) {
  const plan::Group& group = groups[static_cast<std::size_t>(op.group)];
  const Collective collective = *collective_of(op.kind);
  const Formation formation = formation_of(group, method.hosts);
  const int root = op.peer < 0 ? 0 : group.position(op.peer);
  const Access& bucket = op.writes.front();
  const base::DType dtype = rank.buffers[bucket.buffer.index()].dtype;
  Job job{op, group, dtype,
          program(collective, method.algorithm, formation, group.position(rank.rank), root),
          chunks(collective, method.algorithm, formation)};
  const auto element_bytes = static_cast<int>(base::size_of(dtype));
  if (!is_sharded(collective))
    job.segments = segments(bucket.count, element_bytes, method.segment_bytes);
  return job;
}

std::size_t chunk_index(const Op& op, int beside) {
  return static_cast<std::size_t>(op.chunk) + static_cast<std::size_t>(beside);
}

Program empty(const Program& program) {
  return {program.name, program.samples, program.global_samples, program.repeats,
          {},           program.wanted};
}

// The lanes of a rank after expansion. Each communication lane is replaced by two lanes: a send
// lane with the same number, and a receive lane at the end of the list.
struct Lanes {
  std::vector<plan::Lane> lanes;
  std::map<std::int32_t, LaneId> receive_of;  // receive lane by index of the communication lane

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
  Expansion(RankPlan& expanded, const RankPlan& coarse, const Program& program,
            const std::vector<plan::Group>& groups, const Method& method, const Lanes& lanes)
      : expanded_(expanded),
        coarse_(coarse),
        groups_(groups),
        method_(method),
        lanes_(lanes),
        count_(lanes.lanes.size()),
        result_(empty(program)) {
    for (const Op& op : program.ops) {
      if (collective_of(op.kind)) reduced_[op.lane.value].push_back({0, 0, op.writes});
      at_.push_back(&op);
    }
  }

  Program run() {
    for (const Op* op : at_) collective_of(op->kind) ? add_collective(*op) : add_plain(*op);
    for (std::size_t i = 0; i < result_.ops.size(); ++i) map_dependencies(result_.ops[i]);
    return std::move(result_);
  }

 private:
  // An expanded collective: the sequence numbers of its last ops on the send lane and on the
  // receive lane, and the spans that it wrote.
  struct Reduced {
    std::int32_t sends = 0, receives = 0;
    std::vector<Access> writes;
  };
  struct Touch {
    LaneId lane;
    int round = 0;
    std::int32_t done = 0;  // sequence number on the lane at which the op is complete
    bool changes = false;
  };

  std::int32_t push(Op op) {
    const std::int32_t done = ++count_[op.lane.index()];
    result_.ops.push_back(std::move(op));
    return done;
  }

  void add_plain(const Op& op) { push(op); }

  void add_collective(const Op& op) {
    const Job job = job_of(op, coarse_, groups_, method_);
    if (op.kind != OpKind::all_reduce)
      result_.wanted.push_back({op.kind, op.group, op.bucket, op.peer, op.writes.front(), op.row});
    touched_.assign(static_cast<std::size_t>(job.chunks) * static_cast<std::size_t>(job.segments),
                    {});
    for (int round = 0; round < job.last_round(); ++round)
      for (int segment = std::max(0, round - static_cast<int>(job.rounds.size()) + 1);
           segment <= std::min(round, job.segments - 1); ++segment)
        for (const Step& step : job.rounds[static_cast<std::size_t>(round - segment)])
          add_step(job, step, round, segment);
    Reduced& reduced = reduced_[op.lane.value][seen_[op.lane.value]++];
    reduced.sends = count_[op.lane.index()];
    reduced.receives = count_[lanes_.receive_of.at(op.lane.value).index()];
  }

  void add_step(const Job& job, const Step& step, int round, int segment) {
    Op op;
    op.kind = kind_of(step.kind);
    const bool sends = op.kind == OpKind::send;
    op.lane = sends ? job.whole.lane : lanes_.receive_of.at(job.whole.lane.value);
    op.bucket = job.whole.bucket;
    op.group = job.whole.group;
    op.round = round;
    op.chunk = segment * job.chunks + step.chunk;
    op.chunks = step.chunks;
    op.peer = step.peer < 0 ? -1 : job.rank(step.peer);
    if (step.summands.size() < job.group.ranks.size())
      for (const int position : step.summands) op.summands.push_back(job.rank(position));
    set_accesses(job, step, segment, op);
    if (op.kind == OpKind::recv_reduce)
      op.flops = op.writes.front().count * addition_flops(job.dtype);
    if (op.kind == OpKind::reduce_many)
      op.flops =
          op.writes.front().count * addition_flops(job.dtype) * (std::ssize(step.summands) - 1);
    const bool changes = op.kind != OpKind::send && step.kind != StepKind::sum_to_scratch;
    order_after_touches(job.whole, op, changes);
    const Touch touch{op.lane, round, count_[op.lane.index()] + 1, changes};
    for (int c = 0; c < op.chunks; ++c) touched_[chunk_index(op, c)].push_back(touch);
    push(std::move(op));
  }

  void set_accesses(const Job& job, const Step& step, int segment, Op& op) {
    const Access bucket = job.whole.writes.front();
    const auto [first, count] = job.span(step, segment);
    const Access chunk{bucket.buffer, bucket.first + first, count};
    const bool uses_scratch =
        step.kind == StepKind::sum_to_scratch || step.kind == StepKind::copy_from_scratch;
    const Access beside = uses_scratch ? Access{scratch_buffer_for(job), first, count} : Access{};
    if (op.kind != OpKind::recv)
      op.reads = {step.kind == StepKind::copy_from_scratch ? beside : chunk};
    if (op.kind != OpKind::send)
      op.writes = {step.kind == StepKind::sum_to_scratch ? beside : chunk};
  }

  // Returns the scratch buffer for sums. There is one such buffer per group and dtype. It is as
  // long as the group's longest bucket.
  plan::BufferId scratch_buffer_for(const Job& job) {
    std::string name = "aside.g" + std::to_string(job.whole.group);
    const Access& bucket = job.whole.writes.front();
    if (const plan::BufferId known = expanded_.buffer(name);
        known.valid() && expanded_.buffers[known.index()].dtype != job.dtype)
      name += "." + std::string(base::name_of(job.dtype));
    if (!expanded_.buffer(name).valid()) expanded_.buffers.push_back({name, job.dtype, 0, false});
    const plan::BufferId id = expanded_.buffer(name);
    std::int64_t& elements = expanded_.buffers[id.index()].elements;
    elements = std::max(elements, bucket.count);
    return id;
  }

  // Orders one chunk op of a collective after earlier ops that access the same chunk, if either op
  // writes it. If there is no earlier op, or only ops of the same round, the op waits for what the
  // whole collective waits for.
  void order_after_touches(const Op& whole, Op& op, bool changes) {
    for (int c = 0; c < op.chunks; ++c) {
      bool ordered = false;
      for (const Touch& touch : touched_[chunk_index(op, c)]) {
        const bool conflicts = touch.lane != op.lane && (touch.changes || changes);
        if (conflicts) add_dependency(op.after, {touch.lane, touch.done, 0});
        ordered = ordered || conflicts || (touch.lane == op.lane && touch.round != op.round);
      }
      if (!ordered) coarse_after_[result_.ops.size()] = &whole.after;
    }
  }

  // Replaces each dependency on a communication lane by dependencies on the send lane and the
  // receive lane that replace it.
  void map_dependencies(Op& op) {
    const auto index = static_cast<std::size_t>(&op - result_.ops.data());
    const auto own = coarse_after_.find(index);
    const bool chunk_op = plan::communicates(op.kind);
    const std::vector<Dependency> coarse = own != coarse_after_.end() ? *own->second
                                           : chunk_op                 ? std::vector<Dependency>{}
                                                                      : op.after;
    if (!chunk_op) op.after.clear();
    for (const Dependency& dependency : coarse) map_dependency(op, dependency);
  }

  void map_dependency(Op& op, const Dependency& dependency) {
    if (!lanes_.was_comm(dependency.lane)) return add_dependency(op.after, dependency);
    const auto& all = reduced_[dependency.lane.value];
    const bool to_end = dependency.sequence == Dependency::end;
    const std::size_t covered =
        to_end ? all.size() : std::min(all.size(), static_cast<std::size_t>(dependency.sequence));
    bool overwrites = to_end && dependency.steps_back > 0 && overwrites_any(op, dependency.lane);
    for (std::size_t i = 0; i < covered; ++i)
      overwrites = overwrites || any_overlap(op.writes, all[i].writes);
    const Reduced last = covered > 0 ? all[covered - 1] : Reduced{};
    const auto wait = [&](LaneId lane, std::int32_t done) {
      if (to_end || done > 0 || dependency.steps_back > 0)
        add_dependency(op.after, {lane, to_end ? Dependency::end : done, dependency.steps_back});
    };
    wait(lanes_.receive_of.at(dependency.lane.value), last.receives);
    if (overwrites) wait(dependency.lane, last.sends);
  }

  // True if the op overwrites data that an op of this communication lane writes. Checks all
  // programs, because the previous step may have run any of them.
  bool overwrites_any(const Op& op, LaneId comm) const {
    for (const Program& program : coarse_.programs)
      for (const Op& other : program.ops)
        if (other.lane == comm && any_overlap(op.writes, other.writes)) return true;
    return false;
  }

  RankPlan& expanded_;  // receives the buffers that an algorithm adds
  const RankPlan& coarse_;
  const std::vector<plan::Group>& groups_;
  const Method& method_;
  const Lanes& lanes_;
  std::vector<const Op*> at_;
  std::vector<std::int32_t> count_;  // number of ops so far, by lane
  // collectives expanded so far, by communication lane
  std::map<std::int32_t, std::vector<Reduced>> reduced_;
  // number of collectives met so far, by communication lane
  std::map<std::int32_t, std::size_t> seen_;
  // accesses of the current collective so far, by chunk
  std::vector<std::vector<Touch>> touched_;
  // for each new op, by its index: dependencies of the collective to which the op belongs
  std::map<std::size_t, const std::vector<Dependency>*> coarse_after_;
  Program result_;
};

}  // namespace

RankPlan expand(const RankPlan& coarse, const std::vector<plan::Group>& groups,
                const Method& method) {
  const Lanes lanes(coarse.lanes);
  RankPlan expanded{coarse.rank, lanes.lanes, coarse.buffers, {}, coarse.rule, coarse.pairs};
  for (const Program& program : coarse.programs)
    expanded.programs.push_back(Expansion(expanded, coarse, program, groups, method, lanes).run());
  return expanded;
}

plan::Plan expand(const plan::Plan& coarse, const Method& method) {
  return {coarse.ranks, coarse.groups, coarse.schedule,
          [rank_plan = coarse.rank_plan, groups = coarse.groups, method](std::int32_t rank) {
            return expand(rank_plan(rank), groups, method);
          }};
}

Formation formation_of(const plan::Group& group, const std::vector<int>& hosts) {
  std::vector<int> host_of;
  for (const std::int32_t rank : group.ranks)
    host_of.push_back(hosts.empty() ? 0 : hosts[static_cast<std::size_t>(rank)]);
  return formation(host_of);
}

std::optional<Collective> collective_of(OpKind kind) {
  switch (kind) {
    case OpKind::all_reduce: return Collective::all_reduce;
    case OpKind::reduce_scatter: return Collective::reduce_scatter;
    case OpKind::all_gather: return Collective::all_gather;
    case OpKind::broadcast: return Collective::broadcast;
    case OpKind::reduce: return Collective::reduce;
    case OpKind::scatter: return Collective::scatter;
    case OpKind::gather: return Collective::gather;
    default: return std::nullopt;
  }
}

std::int64_t sent_bytes(const RankPlan& expanded, const Program& program) {
  std::int64_t bytes = 0;
  for (const Op& op : program.ops)
    if (op.kind == OpKind::send || op.kind == OpKind::push)
      for (const Access& read : std::span(op.reads).first(
               // Counts only the first access. The second one is the list of row numbers, whose
               // bytes are counted separately.
               op.named ? 1 : op.reads.size()))
        bytes += read.count * base::size_of(expanded.buffers[read.buffer.index()].dtype);
  return bytes;
}

namespace {

// Returns the bytes that a rank sends per step if ranks average in pairs. An active rank sends its
// offer. A passive rank sends answers to active ranks; the result counts the mean number of answers
// per step.
std::int64_t gossip_bytes(const RankPlan& expanded) {
  double bytes = 0;
  for (const plan::GossipPair& pair : expanded.pairs) {
    const std::int64_t all = expanded.buffers[expanded.buffer("params").index()].bytes();
    bytes += static_cast<double>(all) /
             static_cast<double>(expanded.answers() ? pair.passive.size() : 1);
  }
  return std::llround(bytes);
}

}  // namespace

const Program* step_program(const RankPlan& rank, const plan::Schedule& schedule) {
  const int program =
      rank.program(schedule.local_steps > 0 ? plan::Schedule::averaging("train") : "train");
  return program < 0 ? nullptr : &rank.programs[static_cast<std::size_t>(program)];
}

std::int64_t step_sent_bytes(const RankPlan& expanded, const plan::Schedule& schedule) {
  const std::int64_t steps = std::max<std::int64_t>(schedule.local_steps, 1);
  const Program* program = step_program(expanded, schedule);
  return program == nullptr
             ? 0
             : (sent_bytes(expanded, *program) + steps / 2) / steps + gossip_bytes(expanded);
}

}  // namespace trainyard::collective
