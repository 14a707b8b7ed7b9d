// SPDX-License-Identifier: GPL-3.0-or-later
// Memory: what a rank needs at once. A buffer is scratch when one lane alone touches it, no peer does, and every program that
// reads it has written it before; scratch lives from its first op of a program to its last. All else lives all the time. The
// peak is the most that lives at any op; alignment and gaps of a layout come on top.
#include <algorithm>
#include <limits>

#include "core/check/proofs.h"

namespace trainyard::check {
namespace {

struct Life {
  std::size_t first = std::numeric_limits<std::size_t>::max(), last = 0;
  bool used() const { return first <= last; }
};

class Lives {
 public:
  explicit Lives(const plan::RankPlan& rank) : rank_(rank), scratch_(rank.buffers.size()), lane_(rank.buffers.size(), -1) {
    for (std::size_t b = 0; b < scratch_.size(); ++b) scratch_[b] = !rank.buffers[b].shared;
    for (const plan::Program& program : rank.programs) visit(program);
  }

  Memory measure() const {
    Memory memory;
    std::int64_t lasting = 0, most = 0;
    for (std::size_t b = 0; b < scratch_.size(); ++b) {
      const std::int64_t bytes = rank_.buffers[b].bytes();
      memory.buffers += bytes;
      if (rank_.buffers[b].shared) memory.shared += bytes;
      if (!scratch_[b]) lasting += bytes;
    }
    for (std::size_t p = 0; p < lives_.size(); ++p) most = std::max(most, peak(p));
    memory.peak = lasting + most;
    return memory;
  }

 private:
  void visit(const plan::Program& program) {
    auto& lives = lives_.emplace_back(rank_.buffers.size());
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      for (const plan::Access& read : program.ops[i].reads) touch(lives, read, program.ops[i].lane, i, false);
      for (const plan::Access& write : program.ops[i].writes) touch(lives, write, program.ops[i].lane, i, true);
    }
  }

  void touch(std::vector<Life>& lives, const plan::Access& access, plan::LaneId lane, std::size_t op, bool writes) {
    const std::size_t b = access.buffer.index();
    if (lane_[b] < 0) lane_[b] = lane.value;
    if (lane_[b] != lane.value || (!writes && !lives[b].used())) scratch_[b] = false;
    lives[b].first = std::min(lives[b].first, op);
    lives[b].last = std::max(lives[b].last, op);
  }

  std::int64_t peak(std::size_t program) const {
    std::vector<std::int64_t> change(rank_.programs[program].ops.size() + 1, 0);
    for (std::size_t b = 0; b < scratch_.size(); ++b) {
      const Life& life = lives_[program][b];
      if (!scratch_[b] || !life.used()) continue;
      change[life.first] += rank_.buffers[b].bytes();
      change[life.last + 1] -= rank_.buffers[b].bytes();
    }
    std::int64_t live = 0, most = 0;
    for (const std::int64_t c : change) most = std::max(most, live += c);
    return most;
  }

  const plan::RankPlan& rank_;
  std::vector<bool> scratch_;
  std::vector<std::int32_t> lane_;        // the one that touches a buffer
  std::vector<std::vector<Life>> lives_;  // by program, by buffer
};

}  // namespace

std::vector<Memory> memory(const Scope& scope) {
  std::vector<Memory> list;
  for (const plan::RankPlan& rank : scope.ranks) list.push_back(Lives(rank).measure());
  return list;
}

}  // namespace trainyard::check
