// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/engine_calls.h"

#include <optional>

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

std::uint64_t& EngineCalls::handed_over(int group) {
  const auto g = static_cast<std::size_t>(group);
  if (handed_over_.size() <= g) handed_over_.resize(g + 1);
  return handed_over_[g];
}

base::Result<bool> EngineCalls::advance(Transfer& transfer, std::int64_t&) {
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
