// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/engine_calls.h"

#include <map>
#include <optional>
#include <tuple>

namespace trainyard::run {
namespace {

using comm::CollectiveKind;
using plan::OpKind;

constexpr std::chrono::microseconds kSlice{2000};

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
  const auto [at, is_new] = handed_over_.try_emplace(group, 0);
  if (!is_new) return at->second;
  if (const auto before = engine_.completed(group)) at->second = *before;  // of whoever handed over before
  return at->second;
}

base::Result<bool> EngineCalls::advance(Transfer& transfer, std::int64_t&) {
  const BoundOp& op = *transfer.op;
  if (!transfer.posted) {
    const auto kind = kind_of(op.kind);
    if (!kind)
      return base::fail({base::ProblemCode::bad_input, "strategy.engine", engine_.name() + " does not take this op", "own", "Choose strategy.engine=own."});
    std::uint64_t& handed = handed_over(op.channel);  // as it is before this call, which may be complete at once
    if (const auto ok = engine_.start(op.channel, {*kind, reduction_, op.dtype, op.root, op.data, op.elements}); !ok) return base::fail(ok.error());
    transfer.posted = true;
    transfer.ticket = ++handed;
  }
  return engine_.completed(op.channel).map([&](std::uint64_t completed) { return completed >= transfer.ticket; });
}

base::Result<void> make_each_call(comm::Collectives& engine, const BoundPlan& bound, const std::function<base::Result<void>()>& go_on) {
  using Way = std::tuple<int, CollectiveKind, int>;  // group, kind and root
  std::map<Way, const BoundOp*> ways;
  for (const BoundProgram& program : bound.programs)
    for (const BoundOp& op : program.ops)
      if (const auto kind = kind_of(op.kind)) ways.try_emplace({op.channel, *kind, op.root}, &op);
  for (const auto& [way, op] : ways) {
    auto completed = engine.completed(op->channel);
    if (!completed) return base::fail(completed.error());
    const std::uint64_t before = *completed;
    auto ok = engine.start(op->channel, {std::get<CollectiveKind>(way), base::Reduction::sum, op->dtype, op->root, op->data, op->elements});
    while (ok && completed && *completed == before) {
      engine.wait(kSlice);
      completed = engine.completed(op->channel);
      ok = go_on();
    }
    if (!ok || !completed) return base::fail(ok ? completed.error() : ok.error());
  }
  return {};
}

}  // namespace trainyard::run
