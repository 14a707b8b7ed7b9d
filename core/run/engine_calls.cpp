// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/engine_calls.h"

#include <optional>

#include "core/base/clock.h"

namespace trainyard::run {
namespace {

using comm::CollectiveKind;
using plan::OpKind;

std::optional<CollectiveKind> kind_of(OpKind kind) {
  switch (kind) {
    case OpKind::all_reduce: return CollectiveKind::all_reduce;
    case OpKind::reduce_scatter: return CollectiveKind::reduce_scatter;
    case OpKind::all_gather: return CollectiveKind::all_gather;
    case OpKind::broadcast: return CollectiveKind::broadcast;
    default: return std::nullopt;
  }
}

}  // namespace

EngineCalls::EngineCalls(comm::Collectives& engine, base::Reduction reduction) : engine_(engine), reduction_(reduction) { under_way_.reserve(128); }

void EngineCalls::start(const BoundOp& op, const plan::Frontier::Ready& ready) {
  const std::int64_t now = base::now_nanoseconds();
  under_way_.push_back({&op, ready, now, now, false, 0});
}

std::uint64_t& EngineCalls::handed_over(int group) {
  const auto g = static_cast<std::size_t>(group);
  if (handed_over_.size() <= g) handed_over_.resize(g + 1);
  return handed_over_[g];
}

base::Result<bool> EngineCalls::poll(std::vector<Transfer>& done, std::int64_t&) {
  bool moved = false;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < under_way_.size(); ++i) {
    const bool was_posted = under_way_[i].posted;
    const auto complete = advance(under_way_[i]);
    if (!complete) return failed_ = i, base::fail(complete.error());
    moved = moved || *complete || under_way_[i].posted != was_posted;
    if (*complete) done.push_back(under_way_[i]);
    else under_way_[kept++] = under_way_[i];
  }
  under_way_.resize(kept);
  return moved;
}

base::Result<bool> EngineCalls::advance(Transfer& transfer) {
  const BoundOp& op = *transfer.op;
  if (!transfer.posted) {
    const auto kind = kind_of(op.kind);
    if (!kind)
      return base::fail({base::ProblemCode::bad_input, "strategy.engine", engine_.name() + " does not take this op", "own", "Choose strategy.engine=own."});
    if (const auto ok = engine_.start(op.channel, {*kind, reduction_, op.dtype, op.root, op.data, op.elements}); !ok) return base::fail(ok.error());
    transfer.posted = true;
    transfer.ticket = ++handed_over(op.channel);
  }
  return engine_.completed(op.channel).map([&](std::uint64_t completed) { return completed >= transfer.ticket; });
}

}  // namespace trainyard::run
