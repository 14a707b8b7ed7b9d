// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/layout.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace trainyard::run {
namespace {

using plan::Access;
using plan::Op;
using plan::Program;
using plan::RankPlan;

std::int64_t align(std::int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Positions in one program between which a buffer's content matters.
struct Life {
  std::size_t first = std::numeric_limits<std::size_t>::max(), last = 0;
  bool used() const { return first <= last; }
  bool meets(const Life& other) const { return used() && other.used() && first <= other.last && other.first <= last; }
};

// A buffer is scratch when only the compute lane touches it and every program that reads it has written it before.
class Lives {
 public:
  explicit Lives(const RankPlan& plan) : scratch_(plan.buffers.size(), true), lives_(plan.programs.size(), std::vector<Life>(plan.buffers.size())) {
    for (std::size_t b = 0; b < plan.buffers.size(); ++b) scratch_[b] = !plan.buffers[b].shared;
    for (std::size_t p = 0; p < plan.programs.size(); ++p)
      for (std::size_t i = 0; i < plan.programs[p].ops.size(); ++i) visit(plan, plan.programs[p].ops[i], p, i);
  }

  bool scratch(std::size_t buffer) const { return scratch_[buffer]; }
  bool meet(std::size_t a, std::size_t b) const {
    return std::any_of(lives_.begin(), lives_.end(), [&](const auto& program) { return program[a].meets(program[b]); });
  }

 private:
  void visit(const RankPlan& plan, const Op& op, std::size_t program, std::size_t position) {
    const bool on_compute = plan.lanes[op.lane.index()].kind == plan::LaneKind::compute;
    for (const Access& read : op.reads) {
      Life& life = lives_[program][read.buffer.index()];
      if (!on_compute || !life.used()) scratch_[read.buffer.index()] = false;
      extend(life, position);
    }
    for (const Access& write : op.writes) {
      if (!on_compute) scratch_[write.buffer.index()] = false;
      extend(lives_[program][write.buffer.index()], position);
    }
  }
  static void extend(Life& life, std::size_t position) {
    life.first = std::min(life.first, position);
    life.last = std::max(life.last, position);
  }

  std::vector<bool> scratch_;
  std::vector<std::vector<Life>> lives_;  // by program, by buffer
};

// fp64 buffers are small results that the host reads between ops (losses, norms): they keep a place of their own.
bool is_result(const plan::Buffer& buffer, const RankPlan& plan) {
  return buffer.dtype == base::DType::fp64 && buffer.elements <= 3 * static_cast<std::int64_t>(plan.buffers.size());
}

struct Placed {
  std::size_t buffer;
  std::int64_t offset, end;
};

// First fit: the lowest offset that meets no placed buffer that lives at the same time.
std::int64_t first_fit(const std::vector<Placed>& placed, const Lives& lives, std::size_t buffer, std::int64_t bytes) {
  std::vector<Placed> in_the_way;
  for (const Placed& p : placed)
    if (lives.meet(p.buffer, buffer)) in_the_way.push_back(p);
  std::sort(in_the_way.begin(), in_the_way.end(), [](const Placed& a, const Placed& b) { return a.offset < b.offset; });
  std::int64_t offset = 0;
  for (const Placed& p : in_the_way) {
    if (offset + bytes <= p.offset) break;
    offset = std::max(offset, p.end);
  }
  return offset;
}

}  // namespace

Layout layout(const RankPlan& plan) {
  const Lives lives(plan);
  Layout result;
  result.buffers.resize(plan.buffers.size());
  std::vector<std::size_t> scratch;
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const plan::Buffer& buffer = plan.buffers[b];
    if (lives.scratch(b) && !is_result(buffer, plan)) {
      scratch.push_back(b);
      continue;
    }
    std::int64_t& end = buffer.shared ? result.shared_bytes : result.private_bytes;
    result.buffers[b] = {buffer.shared, end};
    end += align(buffer.bytes());
  }
  // The largest first, so that the small ones fill the gaps.
  std::stable_sort(scratch.begin(), scratch.end(), [&](std::size_t a, std::size_t b) { return plan.buffers[a].bytes() > plan.buffers[b].bytes(); });
  std::vector<Placed> placed;
  const std::int64_t start = result.scratch_first = result.private_bytes;
  for (const std::size_t b : scratch) {
    const std::int64_t bytes = align(plan.buffers[b].bytes());
    const std::int64_t offset = first_fit(placed, lives, b, bytes);
    placed.push_back({b, offset, offset + bytes});
    result.buffers[b] = {false, start + offset};
    result.private_bytes = std::max(result.private_bytes, start + offset + bytes);
  }
  return result;
}

}  // namespace trainyard::run
