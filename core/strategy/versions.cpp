// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/strategy/versions.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/strategy/edit.h"

namespace trainyard::strategy {
namespace {

using plan::Access;
using plan::Op;
using plan::OpKind;

// Offset of a segment's parameters, which identifies the segment.
using First = std::int64_t;

bool has_backward(OpKind kind) {
  return kind == OpKind::backward_input || kind == OpKind::recompute;
}

// Lifetime of stashed (saved) parameters: op `update` overwrites the current parameters, so they
// are stashed before it. Op `last_reader` is the last one that reads the stashed copy.
struct Life {
  std::int32_t version = 0;
  std::size_t update = 0, last_reader = 0;
};

// Versions of parameters that one program must stash. The stashed versions are read in the order in
// which they were written.
class Versions {
 public:
  Versions(const plan::Program& program, plan::BufferId parameters) : parameters_(parameters) {
    for (std::size_t i = 0; i < program.ops.size(); ++i) look_at(program.ops[i], i);
  }

  // Returns the maximum number of versions of a segment that are stashed at once.
  std::int64_t at_once(First first) const {
    const auto known = lives_.find(first);
    if (known == lives_.end()) return 0;
    const std::vector<Life>& lives = known->second;
    std::size_t most = 0, oldest = 0;
    for (std::size_t newest = 0; newest < lives.size(); ++newest) {
      while (lives[oldest].last_reader < lives[newest].update) ++oldest;
      most = std::max(most, newest - oldest + 1);
    }
    return static_cast<std::int64_t>(most);
  }

  // `read_by` returns the index (from 0) of the stashed version that an op reads. `ended_by`
  // returns the index of the version that is stashed before an update op overwrites it. Both return
  // -1 if there is none.
  std::int64_t read_by(std::size_t op) const { return number_in(read_, op); }
  std::int64_t ended_by(std::size_t update) const { return number_in(ended_, update); }

 private:
  using Numbers = std::map<std::size_t, std::int64_t>;  // index of a stashed version, by op

  static std::int64_t number_in(const Numbers& numbers, std::size_t op) {
    const auto at = numbers.find(op);
    return at == numbers.end() ? -1 : at->second;
  }

  const Access* parameters_in(const std::vector<Access>& accesses) const {
    const auto at = std::find_if(accesses.begin(), accesses.end(), [&](const Access& access) {
      return access.buffer == parameters_;
    });
    return at == accesses.end() ? nullptr : &*at;
  }

  void look_at(const Op& op, std::size_t number) {
    const Access* read = parameters_in(op.reads);
    if (read == nullptr || op.micro < 0) return;
    std::vector<std::size_t>& updates = updates_[read->first];
    const auto newest = static_cast<std::int32_t>(updates.size());
    if (op.kind == OpKind::update) updates.push_back(number);
    if (op.kind == OpKind::forward || op.kind == OpKind::partial)
      forward_[{op.segment, op.micro}] = newest;
    if (!has_backward(op.kind)) return;
    if (const std::int32_t wanted = forward_.at({op.segment, op.micro}); wanted < newest)
      push_list_op(read->first, wanted, number);
  }

  void push_list_op(First first, std::int32_t version, std::size_t reader) {
    std::vector<Life>& lives = lives_[first];
    const std::size_t update = updates_[first][static_cast<std::size_t>(version)];
    if (lives.empty() || lives.back().version != version)
      lives.push_back({version, update, reader});
    lives.back().last_reader = reader;
    read_[reader] = ended_[update] = std::ssize(lives) - 1;
  }

  plan::BufferId parameters_;
  // update ops of each segment, in order; version n of the parameters exists before update n
  std::map<First, std::vector<std::size_t>> updates_;
  // version that the forward pass used; the key is {segment, micro-batch}
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> forward_;
  std::map<First, std::vector<Life>> lives_;
  Numbers read_, ended_;
};

// Slots for the stashed versions of a segment, contiguous.
struct StashSlots {
  std::int64_t first = 0, elements = 0, room = 0;
  Access place(plan::BufferId stash, std::int64_t number) const {
    return {stash, first + number % room * elements, elements};
  }
};
using StashSlotMap = std::map<First, StashSlots>;

Access& parameters_of(std::vector<Access>& accesses, plan::BufferId parameters) {
  return *std::find_if(accesses.begin(), accesses.end(),
                       [&](const Access& access) { return access.buffer == parameters; });
}

Op stash_op(const Op& update, const Access& parameters, const Access& place) {
  Op op;
  op.kind = OpKind::stash;
  op.lane = update.lane;
  op.segment = update.segment;
  op.micro = update.micro;
  op.reads = {parameters};
  op.writes = {place};
  return op;
}

void rewrite(plan::Program& program, const Versions& versions, const StashSlotMap& stash_slots,
             plan::BufferId parameters, plan::BufferId stash) {
  std::vector<Op> ops;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    Op& op = program.ops[i];
    if (const std::int64_t number = versions.ended_by(i); number >= 0) {
      const Access span = parameters_of(op.writes, parameters);
      ops.push_back(stash_op(op, span, stash_slots.at(span.first).place(stash, number)));
    }
    if (const std::int64_t number = versions.read_by(i); number >= 0) {
      Access& read = parameters_of(op.reads, parameters);
      read = stash_slots.at(read.first).place(stash, number);
    }
    ops.push_back(std::move(op));
  }
  program.ops = std::move(ops);
}

}  // namespace

void keep_versions(plan::RankPlan& rank) {
  const plan::BufferId parameters = rank.buffer("params");
  if (!parameters.valid()) return;
  std::vector<Versions> programs;
  StashSlotMap stash_slots;
  for (const plan::Program& program : rank.programs) {
    const Versions& versions = programs.emplace_back(program, parameters);
    for (const Op& op : program.ops) {
      if (op.kind != OpKind::update) continue;
      StashSlots& slots = stash_slots[op.writes.front().first];
      slots.elements = op.writes.front().count;
      slots.room = std::max(slots.room, versions.at_once(op.writes.front().first));
    }
  }
  std::int64_t elements = 0;
  for (auto& [first, slots] : stash_slots)
    slots.first = std::exchange(elements, elements + slots.room * slots.elements);
  if (elements == 0) return;
  const Access stash = add_buffer(rank, "stash", rank.buffers[parameters.index()].dtype, elements);
  for (std::size_t p = 0; p < programs.size(); ++p)
    rewrite(rank.programs[p], programs[p], stash_slots, parameters, stash.buffer);
}

}  // namespace trainyard::strategy
