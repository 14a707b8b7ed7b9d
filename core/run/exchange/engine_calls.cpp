// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/exchange/engine_calls.h"

#include <fmt/core.h>

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

// Makes one engine call and waits until it is complete.
base::Result<void> make(comm::Collectives& engine, CollectiveKind kind, const BoundOp& op,
                        const WarmUpCallbacks& onlooker) {
  auto completed = engine.completed(op.channel);
  if (!completed) return base::fail(completed.error());
  const std::uint64_t before = *completed;
  auto ok = engine.start(op.channel,
                         {kind, base::Reduction::sum, op.dtype, op.root, op.data, op.elements});
  while (ok && completed && *completed == before) {
    engine.wait(kSlice);
    completed = engine.completed(op.channel);
    ok = onlooker.may_continue();
  }
  if (!completed) return base::fail(completed.error());
  return ok;
}

}  // namespace

std::uint64_t& EngineCalls::handed_over(int group) {
  const auto [at, is_new] = submitted_.try_emplace(group, 0);
  if (!is_new) return at->second;
  if (const auto before = engine_.completed(group))
    at->second = *before;  // counts the calls that were made during warm-up
  return at->second;
}

base::Result<bool> EngineCalls::advance(Transfer& transfer, std::int64_t&) {
  const BoundOp& op = *transfer.op;
  if (!transfer.posted) {
    const auto kind = kind_of(op.kind);
    if (!kind)
      return base::fail({"engine_lacks_operation", base::ProblemCode::bad_input, "strategy.engine",
                         fmt::format("{} does not support this op", engine_.name()), "own",
                         "Set strategy.engine to own."});
    // the counter must exist before the engine is called, because the call may complete immediately
    std::uint64_t& handed = handed_over(op.channel);
    if (const auto ok =
            engine_.start(op.channel, {*kind, reduction_, op.dtype, op.root, op.data, op.elements});
        !ok)
      return base::fail(ok.error());
    transfer.posted = true;
    transfer.ticket = ++handed;
  }
  return engine_.completed(op.channel).map([&](std::uint64_t completed) {
    return completed >= transfer.ticket;
  });
}

base::Result<void> warm_up_engine(comm::Collectives& engine, const BoundPlan& bound,
                                  const WarmUpCallbacks& onlooker) {
  // group, kind, root and number of elements of an engine call, which identify equal calls
  using CallSignature = std::tuple<int, CollectiveKind, int, std::int64_t>;
  std::map<CallSignature, std::pair<int, int>> ways;  // first program and op with such a call
  for (int p = 0; p < std::ssize(bound.programs); ++p)
    for (int i = 0; i < std::ssize(bound.programs[static_cast<std::size_t>(p)].ops); ++i) {
      const BoundOp& op =
          bound.programs[static_cast<std::size_t>(p)].ops[static_cast<std::size_t>(i)];
      if (const auto kind = kind_of(op.kind); kind && op.elements > 0)
        ways.try_emplace({op.channel, *kind, op.root, op.elements}, p, i);
    }
  for (const auto& [way, at] : ways) {
    const auto [program, op] = at;
    onlooker.begins(program, op);
    if (auto made = make(
            engine, std::get<CollectiveKind>(way),
            bound.programs[static_cast<std::size_t>(program)].ops[static_cast<std::size_t>(op)],
            onlooker);
        !made)
      return made;
    onlooker.ends(program, op);
  }
  return {};
}

}  // namespace trainyard::run
