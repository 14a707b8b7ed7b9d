// SPDX-License-Identifier: GPL-3.0-or-later
// Computes the memory that a rank needs. A buffer is scratch if only one lane accesses it (copy
// lanes do not count), no peer accesses it, and every program writes it before reading it. Scratch
// counts only while it is live (core/plan/liveness.h); other buffers always count. The peak is the
// maximum over all ops. A real layout adds alignment and gaps.
#include <algorithm>

#include "core/check/proofs.h"
#include "core/plan/liveness.h"

namespace trainyard::check {
namespace {

class Measured {
 public:
  explicit Measured(const plan::RankPlan& rank)
      : rank_(rank), lives_(rank), scratch_(rank.buffers.size()), lane_(rank.buffers.size(), -1) {
    for (std::size_t b = 0; b < scratch_.size(); ++b)
      scratch_[b] = !rank.buffers[b].shared && is_on_device(b) && lives_.is_written_first(b);
    for (const plan::Program& program : rank.programs)
      for (const plan::Op& op : program.ops)
        for (const auto* accesses : {&op.reads, &op.writes})
          for (const plan::Access& access : *accesses) touch(access.buffer.index(), op.lane);
  }

  Memory memory() const {
    Memory memory;
    std::int64_t lasting = 0, most = 0;
    for (std::size_t b = 0; b < scratch_.size(); ++b) {
      const std::int64_t bytes = rank_.buffers[b].bytes();
      if (!is_on_device(b)) {
        (rank_.buffers[b].place == plan::MemoryKind::host ? memory.host : memory.disk) += bytes;
        continue;
      }
      memory.buffers += bytes;
      if (rank_.buffers[b].shared) memory.shared += bytes;
      if (!scratch_[b]) lasting += bytes;
    }
    for (std::size_t p = 0; p < rank_.programs.size(); ++p) most = std::max(most, peak(p));
    memory.peak = lasting + most;
    return memory;
  }

 private:
  bool is_on_device(std::size_t buffer) const {
    return rank_.buffers[buffer].place == plan::MemoryKind::device;
  }

  void touch(std::size_t buffer, plan::LaneId lane) {
    if (rank_.lanes[lane.index()].kind == plan::LaneKind::copy) return;
    if (lane_[buffer] < 0) lane_[buffer] = lane.value;
    if (lane_[buffer] != lane.value) scratch_[buffer] = false;
  }

  std::int64_t peak(std::size_t program) const {
    std::vector<std::int64_t> change(rank_.programs[program].ops.size() + 1, 0);
    for (std::size_t b = 0; b < scratch_.size(); ++b) {
      if (!scratch_[b]) continue;
      for (const plan::OpRange& stretch : lives_.of(program, b)) {
        change[stretch.first] += rank_.buffers[b].bytes();
        change[stretch.last + 1] -= rank_.buffers[b].bytes();
      }
    }
    std::int64_t live = 0, most = 0;
    for (const std::int64_t c : change) most = std::max(most, live += c);
    return most;
  }

  const plan::RankPlan& rank_;
  plan::Liveness lives_;
  std::vector<bool> scratch_;
  std::vector<std::int32_t> lane_;  // by buffer: the only lane that uses it
};

}  // namespace

std::vector<Memory> memory(const Scope& scope) {
  std::vector<Memory> list;
  for (const plan::RankPlan& rank : scope.ranks) list.push_back(Measured(rank).memory());
  return list;
}

}  // namespace trainyard::check
