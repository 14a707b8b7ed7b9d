// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/bind/layout.h"

#include <algorithm>
#include <utility>

#include "core/plan/buffer_names.h"
#include "core/plan/liveness.h"

namespace trainyard::run {
namespace {

using plan::RankPlan;

std::int64_t align(std::int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// A buffer is scratch if only compute and copy lanes access it, and every program writes it before
// reading it.
bool may_share(plan::LaneKind kind) {
  return kind == plan::LaneKind::compute || kind == plan::LaneKind::copy;
}

std::vector<bool> scratch_of(const RankPlan& plan, const plan::Liveness& lives) {
  std::vector<bool> scratch(plan.buffers.size());
  for (std::size_t b = 0; b < scratch.size(); ++b)
    scratch[b] = !plan.buffers[b].shared && plan.buffers[b].place == plan::MemoryKind::device &&
                 lives.is_written_first(b);
  for (const plan::Program& program : plan.programs)
    for (const plan::Op& op : program.ops)
      for (const auto* accesses : {&op.reads, &op.writes})
        for (const plan::Access& access : *accesses)
          if (!may_share(plan.lanes[op.lane.index()].kind)) scratch[access.buffer.index()] = false;
  return scratch;
}

bool touches(const plan::Op& op, std::size_t buffer) {
  const auto is_it = [&](const plan::Access& access) { return access.buffer.index() == buffer; };
  return std::ranges::any_of(op.reads, is_it) || std::ranges::any_of(op.writes, is_it);
}

// True if the host executes or synchronizes an op that accesses the buffer.
bool host_participates(const RankPlan& plan, std::size_t buffer) {
  const auto has_part = [](plan::OpKind kind) {
    return plan::serves(kind) || plan::gossips_in_pairs(kind) || kind == plan::OpKind::rows ||
           kind == plan::OpKind::pack;
  };
  return std::ranges::any_of(plan.programs, [&](const plan::Program& program) {
    return std::ranges::any_of(
        program.ops, [&](const plan::Op& op) { return has_part(op.kind) && touches(op, buffer); });
  });
}

// True if the buffer has small results in fp64: losses, norms, or sums over samples. Such buffers
// do not share addresses with others.
bool is_result(const plan::Buffer& buffer, const RankPlan& plan) {
  return buffer.dtype == base::DType::fp64 &&
         buffer.elements <= 3 * static_cast<std::int64_t>(plan.buffers.size());
}

// True if the host reads or writes the buffer between ops. Such buffers are contiguous.
bool is_host_accessible(const RankPlan& plan, std::size_t number) {
  const plan::Buffer& buffer = plan.buffers[number];
  if (buffer.shared || buffer.place != plan::MemoryKind::device) return false;
  // a buffer of dtype int32 contains a list of table rows
  const bool is_small = is_result(buffer, plan) || buffer.dtype == base::DType::int32;
  return plan::is_host_accessed(buffer.name) || (is_small && host_participates(plan, number));
}

// True if the host only copies data to or from the shared buffer. This holds for gradients, outputs
// and parameters.
bool is_host_copy_only(const RankPlan& plan, std::size_t buffer) {
  const plan::Buffer& of = plan.buffers[buffer];
  return of.shared && of.dtype != base::DType::int32 && !plan::is_host_accessed(of.name) &&
         !host_participates(plan, buffer);
}

struct Placed {
  std::size_t buffer;
  std::int64_t offset, end;
};

// Returns the lowest offset at which a buffer overlaps no placed buffer that is live at the same
// time (first fit). `placed` is ordered by offset.
std::int64_t first_fit(const std::vector<Placed>& placed, const plan::Liveness& lives,
                       std::size_t buffer, std::int64_t bytes) {
  std::int64_t offset = 0;
  for (const Placed& p : placed) {
    if (offset + bytes <= p.offset) break;
    if (p.end > offset && lives.meet(p.buffer, buffer)) offset = p.end;
  }
  return offset;
}

std::int64_t end_of(const std::vector<Placed>& placed) {
  std::int64_t end = 0;
  for (const Placed& p : placed) end = std::max(end, p.end);
  return end;
}

std::vector<Placed> place(const RankPlan& plan, const plan::Liveness& lives,
                          const std::vector<std::size_t>& order) {
  std::vector<Placed> placed;
  for (const std::size_t b : order) {
    const std::int64_t bytes = align(plan.buffers[b].bytes());
    const std::int64_t offset = first_fit(placed, lives, b, bytes);
    placed.insert(std::ranges::upper_bound(placed, offset, {}, &Placed::offset),
                  {b, offset, offset + bytes});
  }
  return placed;
}

// Returns the program and op at which a buffer first becomes live.
std::pair<std::size_t, std::size_t> beginning(const RankPlan& plan, const plan::Liveness& lives,
                                              std::size_t buffer) {
  for (std::size_t p = 0; p < plan.programs.size(); ++p)
    if (const auto& stretches = lives.of(p, buffer); !stretches.empty())
      return {p, stretches.front().first};
  return {plan.programs.size(), 0};
}

// Places the largest buffers first, so that small ones fill the gaps. Tries two orders for buffers
// of equal size, plan order and order of first write, and keeps the smaller layout. Order of first
// write is optimal if all buffers have equal sizes and one live range each.
std::vector<Placed> best_of_orders(const RankPlan& plan, const plan::Liveness& lives,
                                   std::vector<std::size_t> order) {
  const auto largest_first = [&](std::size_t a, std::size_t b) {
    return plan.buffers[a].bytes() > plan.buffers[b].bytes();
  };
  std::stable_sort(order.begin(), order.end(), largest_first);
  std::vector<Placed> listed = place(plan, lives, order);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return beginning(plan, lives, a) < beginning(plan, lives, b);
  });
  std::stable_sort(order.begin(), order.end(), largest_first);
  std::vector<Placed> written = place(plan, lives, order);
  return end_of(written) < end_of(listed) ? written : listed;
}

// Returns the size, in `layout`, of the arena or file that contains the buffer.
std::int64_t& end_of(Layout& layout, const plan::Buffer& buffer) {
  switch (buffer.place) {
    case plan::MemoryKind::host: return layout.host_bytes;
    case plan::MemoryKind::disk: return layout.disk_bytes;
    case plan::MemoryKind::device: break;
  }
  return buffer.shared ? layout.shared_bytes : layout.private_bytes;
}

}  // namespace

Layout layout(const RankPlan& plan) {
  const plan::Liveness lives(plan);
  const std::vector<bool> is_scratch = scratch_of(plan, lives);
  Layout result;
  result.buffers.resize(plan.buffers.size());
  const auto append = [&](std::size_t b) {
    const plan::Buffer& buffer = plan.buffers[b];
    std::int64_t& end = end_of(result, buffer);
    result.buffers[b] = {buffer.shared, end, buffer.place};
    end += align(buffer.bytes());
  };
  std::vector<std::size_t> others, for_devices, scratch;
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    if (is_host_accessible(plan, b)) append(b);
    else if (is_host_copy_only(plan, b)) for_devices.push_back(b);
    else (is_scratch[b] && !is_result(plan.buffers[b], plan) ? scratch : others).push_back(b);
  }
  result.result_bytes = result.private_bytes;
  std::ranges::for_each(others, append);
  result.shared_host_bytes = result.shared_bytes;
  std::ranges::for_each(for_devices, append);
  const std::vector<Placed> placed = best_of_orders(plan, lives, std::move(scratch));
  const std::int64_t start = result.scratch_first = result.private_bytes;
  for (const Placed& p : placed)
    result.buffers[p.buffer] = {false, start + p.offset, plan::MemoryKind::device};
  result.private_bytes = start + end_of(placed);
  return result;
}

}  // namespace trainyard::run
