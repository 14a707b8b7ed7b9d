// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/strategy/swap.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "core/plan/buffer_names.h"
#include "core/plan/text.h"
#include "core/strategy/edit.h"

namespace trainyard::strategy {
namespace {

using plan::Access;
using plan::Dependency;
using plan::LaneId;
using plan::LaneKind;
using plan::MemoryKind;
using plan::Op;
using plan::OpKind;

MemoryKind place_of(experiment::OffloadTarget to) {
  return to == experiment::OffloadTarget::disk ? MemoryKind::disk : MemoryKind::host;
}

bool trains(const plan::Program& program) {
  return plan::purpose(program.name) == plan::Purpose::training;
}

template <class Visit>
void for_each_access(const Op& op, Visit visit) {
  for (const Access& read : op.reads) visit(read, false);
  for (const Access& write : op.writes) visit(write, true);
}

// Compute ops of a program, numbered from 1 as in dependencies, and divided into groups. A group
// consists of consecutive ops of the same segment and micro-step.
class Timeline {
 public:
  Timeline(const plan::RankPlan& rank, const plan::Program& program) {
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      const Op& op = program.ops[i];
      if (rank.lanes[op.lane.index()].kind != LaneKind::compute) continue;
      const bool same = !ops_.empty() && op.segment >= 0 &&
                        program.ops[ops_.back()].segment == op.segment &&
                        program.ops[ops_.back()].micro == op.micro;
      if (!same) first_.push_back(static_cast<std::int32_t>(ops_.size()) + 1);
      ops_.push_back(i);
      group_.push_back(static_cast<std::int32_t>(first_.size()) - 1);
    }
  }

  std::int32_t size() const { return static_cast<std::int32_t>(ops_.size()); }
  std::size_t op(std::int32_t sequence) const {
    return ops_[static_cast<std::size_t>(sequence) - 1];
  }
  std::int32_t group(std::int32_t sequence) const {
    return group_[static_cast<std::size_t>(sequence) - 1];
  }
  std::int32_t first_of(std::int32_t group) const {
    return first_[static_cast<std::size_t>(group)];
  }
  // Goes back `groups` groups from the group of op `sequence`, and returns the number of compute
  // ops before that earlier group.
  std::int32_t before(std::int32_t sequence, std::int32_t groups) const {
    return first_of(std::max(0, group(sequence) - groups)) - 1;
  }

 private:
  std::vector<std::size_t> ops_;
  std::vector<std::int32_t> group_, first_;
};

// Offload or fetch op for the copy lane. `from`: number of compute ops for which the copy waits.
// `until`: sequence number of the compute op that waits for the copy; 0: none.
struct Copy {
  Op op;
  std::int32_t from = 0, until = 0;
};

Copy copy_of(OpKind kind, const Op& named_as, std::vector<Access> reads, std::vector<Access> writes,
             std::int32_t from, std::int32_t until) {
  Copy copy{{}, from, until};
  copy.op.kind = kind;
  copy.op.segment = named_as.segment;
  copy.op.micro = named_as.micro;
  copy.op.reads = std::move(reads);
  copy.op.writes = std::move(writes);
  return copy;
}

// Offloading of outputs
// ------------------------------------------------------------------------------------------

// Divides a buffer into spans, in order, so that each access to the buffer lies within one span.
std::vector<Access> pieces_of(const plan::RankPlan& rank, plan::BufferId buffer) {
  std::vector<Access> spans;
  for (const plan::Program& program : rank.programs)
    for (const Op& op : program.ops)
      for_each_access(op, [&](const Access& access, bool) {
        if (access.buffer == buffer && access.count > 0) spans.push_back(access);
      });
  std::sort(spans.begin(), spans.end(),
            [](const Access& a, const Access& b) { return a.first < b.first; });
  std::vector<Access> pieces;
  for (const Access& span : spans) {
    if (pieces.empty() || span.first >= pieces.back().first + pieces.back().count)
      pieces.push_back(span);
    else
      pieces.back().count =
          std::max(pieces.back().count, span.first + span.count - pieces.back().first);
  }
  return pieces;
}

// Moves each span of the buffer (see `pieces_of`) except the first one to a separate buffer.
void split(plan::RankPlan& rank, plan::BufferId buffer) {
  const std::vector<Access> pieces = pieces_of(rank, buffer);
  if (pieces.size() < 2) return;
  std::vector<plan::BufferId> places{buffer};
  const plan::Buffer whole = rank.buffers[buffer.index()];
  for (std::size_t p = 1; p < pieces.size(); ++p)
    places.push_back(add_buffer(rank, whole.name + plan::kPiece + std::to_string(p), whole.dtype,
                                pieces[p].count)
                         .buffer);
  rank.buffers[buffer.index()].elements = pieces.front().count;
  for (plan::Program& program : rank.programs)
    for (Op& op : program.ops)
      for (auto* accesses : {&op.reads, &op.writes})
        for (Access& access : *accesses) {
          if (access.buffer != buffer || access.count == 0) continue;
          const auto after = std::upper_bound(
              pieces.begin(), pieces.end(), access.first,
              [](std::int64_t at, const Access& piece) { return at < piece.first; });
          const auto p = static_cast<std::size_t>(after - pieces.begin()) - 1;
          access = {places[p], access.first - pieces[p].first, access.count};
        }
}

// Returns the buffers of outputs that only compute ops access. Only these can be offloaded.
std::vector<plan::BufferId> outputs_of(const plan::RankPlan& rank) {
  std::vector<bool> alone(rank.buffers.size(), true);
  for (const plan::Program& program : rank.programs)
    for (const Op& op : program.ops)
      for_each_access(op, [&](const Access& access, bool) {
        if (rank.lanes[op.lane.index()].kind != LaneKind::compute)
          alone[access.buffer.index()] = false;
      });
  std::vector<plan::BufferId> list;
  for (std::size_t b = 0; b < alone.size(); ++b)
    if (alone[b] && !rank.buffers[b].shared && rank.buffers[b].name.starts_with("act."))
      list.emplace_back(b);
  return list;
}

// Access of a compute op to one span of a buffer.
struct Touch {
  std::int32_t sequence = 0;
  Access span;
  bool reads = false, writes = false;
};

// Returns the accesses of compute ops to a buffer; nothing if one op accesses several spans of it.
std::optional<std::vector<Touch>> touches_of(const plan::Program& program, const Timeline& timeline,
                                             plan::BufferId buffer) {
  std::vector<Touch> touches;
  for (std::int32_t sequence = 1; sequence <= timeline.size(); ++sequence) {
    bool several = false;
    for_each_access(program.ops[timeline.op(sequence)], [&](const Access& access, bool writes) {
      if (access.buffer != buffer || access.count == 0) return;
      if (touches.empty() || touches.back().sequence != sequence)
        touches.push_back({sequence, access});
      several = several || touches.back().span != access;
      (writes ? touches.back().writes : touches.back().reads) = true;
    });
    if (several) return std::nullopt;
  }
  return touches;
}

class OffloadWriter {
 public:
  OffloadWriter(plan::RankPlan& rank, MemoryKind place) : rank_(rank), place_(place) {}

  // Returns the span in host memory or on disk to which a span of an output is offloaded. Creates
  // its buffer on first use.
  Access of(const Access& span) {
    if (homes_.size() < rank_.buffers.size()) homes_.resize(rank_.buffers.size());
    plan::BufferId home = homes_[span.buffer.index()];
    if (!home.valid()) {
      const plan::Buffer own = rank_.buffers[span.buffer.index()];
      home = add_buffer(rank_, own.name + plan::kPiece + std::string(plan::word(place_)), own.dtype,
                        own.elements)
                 .buffer;
      rank_.buffers[home.index()].place = place_;
      homes_[span.buffer.index()] = home;
    }
    return {home, span.first, span.count};
  }

 private:
  plan::RankPlan& rank_;
  MemoryKind place_;
  // by buffer: the buffer in host memory or on disk to which it is offloaded; invalid if it is not
  // offloaded
  std::vector<plan::BufferId> homes_;
};

void offload_outputs(const plan::Program& program, const Timeline& timeline, plan::BufferId buffer,
                     OffloadWriter& aside, std::vector<Copy>& copies) {
  const auto touches = touches_of(program, timeline, buffer);
  if (!touches) return;
  const Op* made_by = nullptr;
  for (std::size_t t = 0; t + 1 < touches->size(); ++t) {
    const Touch &last = (*touches)[t], &next = (*touches)[t + 1];
    if (last.writes) made_by = &program.ops[timeline.op(last.sequence)];
    const std::int32_t away = timeline.group(next.sequence) - timeline.group(last.sequence);
    if (made_by == nullptr || !next.reads || next.span != last.span || away < kBehind + kAhead + 2)
      continue;
    const Access home = aside.of(last.span);
    copies.push_back(copy_of(OpKind::offload, *made_by, {last.span}, {home}, last.sequence,
                             timeline.first_of(timeline.group(last.sequence) + kBehind + 1)));
    copies.push_back(copy_of(OpKind::fetch, *made_by, {home}, {next.span},
                             timeline.before(next.sequence, kAhead), next.sequence));
  }
}

// Offloading of moments
// ------------------------------------------------------------------------------------------

struct Moment {
  plan::BufferId home, near;
  std::int64_t room = 0;  // elements of the device buffer: enough for any two consecutive updates
};

bool updates(const Op& op) { return op.kind == OpKind::update && op.segment >= 0; }

// Returns the moments that no ops other than updates of segments access.
std::vector<Moment> moments_of(const plan::RankPlan& rank) {
  std::vector<Moment> moments;
  for (std::size_t b = 0; b < rank.buffers.size(); ++b) {
    if (!rank.buffers[b].name.starts_with("moment")) continue;
    Moment moment{plan::BufferId(b), {}};
    bool others = false;
    for (const plan::Program& program : rank.programs) {
      std::int64_t before = 0;
      for (const Op& op : program.ops)
        for_each_access(op, [&](const Access& access, bool writes) {
          if (access.buffer != moment.home) return;
          others = others || !updates(op);
          if (writes)
            moment.room = std::max(moment.room, std::exchange(before, access.count) + access.count);
        });
    }
    if (!others && moment.room > 0) moments.push_back(moment);
  }
  return moments;
}

// Makes an update use device copies of its moments, at the start or end of the device buffer.
// Returns the spans of the offloaded moments and of the device copies.
std::pair<std::vector<Access>, std::vector<Access>> use_device_copies(
    Op& update, const std::vector<Moment>& moments, bool at_end) {
  std::vector<Access> homes, near;
  for (const Moment& moment : moments)
    for (auto* accesses : {&update.writes, &update.reads})
      for (Access& access : *accesses) {
        if (access.buffer != moment.home) continue;
        const Access here{moment.near, at_end ? moment.room - access.count : 0, access.count};
        if (accesses == &update.writes) homes.push_back(access), near.push_back(here);
        access = here;
      }
  return {std::move(homes), std::move(near)};
}

// Adds the copies of moments. Updates alternate between the two ends of the device buffer.
void offload_moments(plan::Program& program, const Timeline& timeline,
                     const std::vector<Moment>& moments, std::vector<Copy>& copies) {
  std::vector<std::int32_t> done;  // sequence numbers of the updates so far
  for (std::int32_t sequence = 1; sequence <= timeline.size(); ++sequence) {
    Op& op = program.ops[timeline.op(sequence)];
    if (!updates(op)) continue;
    const auto [homes, near] = use_device_copies(op, moments, done.size() % 2 == 1);
    if (homes.empty()) continue;
    const std::int32_t free = done.size() < 2 ? 0 : done[done.size() - 2];
    copies.push_back(copy_of(OpKind::fetch, op, homes, near,
                             std::max(free, timeline.before(sequence, kAhead)), sequence));
    copies.push_back(copy_of(OpKind::offload, op, near, homes, sequence, 0));
    done.push_back(sequence);
  }
}

// Outputs and moments
// ------------------------------------------------------------------------------------------

// Adds copies in the order in which they may begin. If an offload and a fetch may begin at the same
// time, the offload comes first, because it frees memory.
void add_to_lane(plan::Program& program, const Timeline& timeline, LaneId lane, LaneId compute,
                 std::vector<Copy> copies) {
  std::stable_sort(copies.begin(), copies.end(), [](const Copy& a, const Copy& b) {
    return std::pair(a.from, a.op.kind != OpKind::offload) <
           std::pair(b.from, b.op.kind != OpKind::offload);
  });
  // by compute op: number of copies for which it waits
  std::vector<std::int32_t> waited(static_cast<std::size_t>(timeline.size()) + 1, 0);
  for (std::size_t c = 0; c < copies.size(); ++c) {
    Copy& copy = copies[c];
    copy.op.lane = lane;
    copy.op.after = {copy.from > 0 ? Dependency{compute, copy.from, 0}
                                   : Dependency{compute, Dependency::end, 1}};
    if (copy.until > 0)
      waited[static_cast<std::size_t>(copy.until)] = static_cast<std::int32_t>(c) + 1;
  }
  std::int32_t known = 0;
  for (std::int32_t sequence = 1; sequence <= timeline.size(); ++sequence)
    if (waited[static_cast<std::size_t>(sequence)] > known) {
      known = waited[static_cast<std::size_t>(sequence)];
      program.ops[timeline.op(sequence)].after.push_back({lane, known, 0});
    }
  std::vector<Op> ops;
  std::size_t next = 0;
  const auto add_from = [&](std::int32_t complete) {
    for (; next < copies.size() && copies[next].from <= complete; ++next)
      ops.push_back(std::move(copies[next].op));
  };
  std::int32_t complete = 0;
  add_from(complete);
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const bool computes = program.ops[i].lane == compute;
    ops.push_back(std::move(program.ops[i]));
    if (computes) add_from(++complete);
  }
  program.ops = std::move(ops);
}

LaneId compute_lane(const plan::RankPlan& rank) {
  const auto at = std::find_if(rank.lanes.begin(), rank.lanes.end(), [](const plan::Lane& lane) {
    return lane.kind == LaneKind::compute;
  });
  return at == rank.lanes.end() ? LaneId()
                                : LaneId(static_cast<std::size_t>(at - rank.lanes.begin()));
}

}  // namespace

void add_offloading(plan::RankPlan& rank, const experiment::OffloadSpec& spec) {
  const LaneId compute = compute_lane(rank), lane(rank.lanes.size());
  if (!compute.valid() || rank.rule ||
      std::none_of(rank.programs.begin(), rank.programs.end(), trains))
    return;
  std::vector<plan::BufferId> outputs;
  if (spec.activations != experiment::OffloadTarget::nowhere) {
    for (const plan::BufferId output : outputs_of(rank)) split(rank, output);
    outputs = outputs_of(rank);
  }
  std::vector<Moment> moments = spec.optimizer != experiment::OffloadTarget::nowhere
                                    ? moments_of(rank)
                                    : std::vector<Moment>{};
  for (Moment& moment : moments) {
    rank.buffers[moment.home.index()].place = place_of(spec.optimizer);
    const plan::Buffer home = rank.buffers[moment.home.index()];
    moment.near =
        add_buffer(rank, home.name + plan::kPiece + "near", home.dtype, moment.room).buffer;
  }
  OffloadWriter aside(rank, place_of(spec.activations));
  bool any = false;
  for (plan::Program& program : rank.programs) {
    if (!trains(program)) continue;
    const Timeline timeline(rank, program);
    std::vector<Copy> copies;
    for (const plan::BufferId output : outputs)
      offload_outputs(program, timeline, output, aside, copies);
    offload_moments(program, timeline, moments, copies);
    any = any || !copies.empty();
    if (!copies.empty()) add_to_lane(program, timeline, lane, compute, std::move(copies));
  }
  if (any) rank.lanes.push_back({"copy", LaneKind::copy, -1});
}

}  // namespace trainyard::strategy
