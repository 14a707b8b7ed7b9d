// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/exchange/collective_runner.h"

#include <algorithm>

#include "core/compute/combine.h"

namespace trainyard::run {

namespace {
// maximum length of one wait; the abort word is checked between two waits
constexpr std::chrono::microseconds kAbortSlice{2000};
}  // namespace

CollectiveRunner::CollectiveRunner(const plan::RankPlan& plan, const BoundPlan& bound,
                                   Exchange& exchange, std::int64_t mean_of)
    : plan_(plan), bound_(bound), exchange_(exchange), mean_of_(mean_of), frontier_(plan) {}

base::Result<void> CollectiveRunner::run(int program, std::int64_t step) {
  // admitting the program cannot fail, because all earlier programs are complete and the frontier
  // (queue of programs in progress) is empty
  frontier_.admit(program, step);
  while (!frontier_.instance_complete(frontier_.admitted() - 1)) {
    const auto moved = progress();
    if (!moved) return base::fail(moved.error());
    if (!*moved) exchange_.wait(kAbortSlice);
  }
  if (mean_of_ > 1) divide(program);
  return {};
}

// Divides all reduced elements by `mean_of_`. Requires a complete program: each element has been
// written, and no peer reads it any more.
void CollectiveRunner::divide(int program) {
  struct WrittenSpan {
    std::byte *begin, *end;
    base::DType dtype;
  };
  std::vector<WrittenSpan> parts;
  const auto p = static_cast<std::size_t>(program);
  for (std::size_t i = 0; i < bound_.programs[p].ops.size(); ++i) {
    const auto& writes = plan_.programs[p].ops[i].writes;
    const BoundOp& op = bound_.programs[p].ops[i];
    if (!writes.empty() && plan_.buffers[writes.front().buffer.index()].shared)
      parts.push_back({op.data, op.data + op.bytes, op.dtype});
  }
  std::sort(parts.begin(), parts.end(),
            [](const WrittenSpan& a, const WrittenSpan& b) { return a.begin < b.begin; });
  std::byte* done = nullptr;
  for (const WrittenSpan& part : parts) {
    std::byte* begin = std::max(part.begin, done);
    if (begin >= part.end) continue;
    compute::divide(part.dtype, begin, (part.end - begin) / base::size_of(part.dtype), mean_of_);
    done = part.end;
  }
}

bool CollectiveRunner::start_ready() {
  bool started = false;
  for (std::size_t l = 0; l < plan_.lanes.size(); ++l)
    while (const auto ready = frontier_.next(plan::LaneId(l))) {
      exchange_.start(bound_.programs[static_cast<std::size_t>(ready->program)]
                          .ops[static_cast<std::size_t>(ready->op)],
                      *ready);
      frontier_.start(plan::LaneId(l));
      started = true;
    }
  return started;
}

base::Result<bool> CollectiveRunner::progress() {
  const bool started = start_ready();
  done_.clear();
  std::int64_t busy_ns = 0;
  const auto moved = exchange_.poll(done_, busy_ns);
  if (!moved) return base::fail(moved.error());
  for (const Transfer& transfer : done_) frontier_.finish(transfer.op->lane, transfer.ready);
  return started || *moved;
}

}  // namespace trainyard::run
