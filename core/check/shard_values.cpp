// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/check/shard_values.h"

namespace trainyard::check {

int ValueTable::number(const ShardValue& value) {
  const auto [at, fresh] = numbers_.try_emplace(value, static_cast<int>(list_.size()));
  if (fresh) list_.push_back(value);
  return at->second;
}

std::optional<int> ValueTable::sum(int a, int b) {
  const ShardValue left = (*this)[a], right = (*this)[b];
  if (left.kind == ShardValue::zero) return b;
  if (right.kind == ShardValue::zero) return a;
  if (left.kind != ShardValue::gradient || right.kind != ShardValue::gradient ||
      left.position != right.position)
    return number({});
  ShardValue both = left;
  for (const GradientTerm& part : right.parts)
    if (!both.parts.insert(part).second) return std::nullopt;
  return number(both);
}

bool is_of_gradients(const plan::RankPlan& rank, const plan::Access& span) {
  return rank.buffers[span.buffer.index()].name == "grads";
}

std::int32_t gathering_group(const plan::RankPlan& rank) {
  const plan::BufferId parameters = rank.buffer("params");
  for (const plan::Program& program : rank.programs) {
    for (const plan::Wanted& wanted : program.wanted)
      if (wanted.kind == plan::OpKind::all_gather && wanted.span.buffer == parameters)
        return wanted.group;
    for (const plan::Op& op : program.ops)
      if (op.kind == plan::OpKind::all_gather && op.writes.front().buffer == parameters)
        return op.group;
  }
  return -1;
}

std::vector<Piece> moved(const std::vector<Piece>& pieces, std::int64_t from, std::int64_t to) {
  std::vector<Piece> list;
  for (Piece piece : pieces) {
    piece.first += to - from;
    piece.value.shift += from - to;
    const bool goes_on = !list.empty() && list.back().value == piece.value &&
                         list.back().first + list.back().count == piece.first;
    if (goes_on) list.back().count += piece.count;
    else list.push_back(piece);
  }
  return list;
}

}  // namespace trainyard::check
