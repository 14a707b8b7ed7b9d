// SPDX-License-Identifier: GPL-3.0-or-later
// Random plans: every kind of op, every optional part. They need not make sense. Call inside a
// property.
#pragma once

#include <rapidcheck.h>

#include "core/plan/text.h"

namespace trainyard::plan {

inline std::int64_t any_size() {
  return *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(0, 100),
                         rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 53));
}
inline std::int32_t any_id() { return *rc::gen::element(-1, -1, 0, 1, 17, 2147483647); }
inline int any_count(int most) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, most + 1));
}

// Words with a number, so that they differ; some with the marks that the grammar uses itself.
inline std::string any_name(std::size_t number) {
  return *rc::gen::element<std::string>("n", "end", "a:b", "x@-", "rank", "-", ">r", "é", "0") +
         std::to_string(number);
}

inline Access any_access(const RankPlan& rank) {
  Access access;
  access.buffer = BufferId(*rc::gen::inRange<std::size_t>(0, rank.buffers.size()));
  const std::int64_t elements = rank.buffers[access.buffer.index()].elements;
  if (*rc::gen::arbitrary<bool>()) return {access.buffer, 0, elements};
  access.first = *rc::gen::inRange<std::int64_t>(0, elements + 1);
  access.count = *rc::gen::inRange<std::int64_t>(0, elements - access.first + 1);
  return access;
}

inline Dependency any_dependency(const RankPlan& rank) {
  return {LaneId(*rc::gen::inRange<std::size_t>(0, rank.lanes.size())),
          *rc::gen::element(-1, 0, 1, 5, 2147483647), *rc::gen::element(0, 0, 1, 2, 9)};
}

inline Op any_op(const RankPlan& rank) {
  Op op;
  op.kind = static_cast<OpKind>(any_count(static_cast<int>(OpKind::answer)));
  op.lane = LaneId(*rc::gen::inRange<std::size_t>(0, rank.lanes.size()));
  for (std::int32_t* field :
       {&op.segment, &op.micro, &op.bucket, &op.round, &op.chunk, &op.peer, &op.group})
    *field = any_id();
  if (op.chunk >= 0 && op.chunk < 100) op.chunks = 1 + any_count(5);
  if (op.kind == OpKind::reduce_many || op.kind == OpKind::mix) {
    op.peer = -1;
    for (int n = any_count(3); n > 0; --n) op.summands.push_back(*rc::gen::inRange(0, 100));
  }
  if (*rc::gen::arbitrary<bool>()) {
    const std::int64_t first = any_count(5), count = 1 + any_count(5);
    op.columns = {first, count, first + count + any_count(5)};
  }
  if (*rc::gen::arbitrary<bool>()) op.row = 1 + any_count(7);
  for (int n = any_count(3); n > 0; --n)
    op.weights.numerators.push_back(any_size() * *rc::gen::element(-1, 1));
  if (!op.weights.numerators.empty()) op.weights.denominator = 1 + any_size() / 2;
  if (!rank.buffers.empty()) {
    for (int n = any_count(3); n > 0; --n) op.reads.push_back(any_access(rank));
    for (int n = any_count(3); n > 0; --n) op.writes.push_back(any_access(rank));
  }
  for (int n = any_count(3); n > 0; --n) op.after.push_back(any_dependency(rank));
  if (*rc::gen::arbitrary<bool>()) op.flops = any_size();
  return op;
}

inline Wanted any_wanted(const RankPlan& rank) {
  const int first = static_cast<int>(OpKind::all_reduce), last = static_cast<int>(OpKind::gather);
  return {static_cast<OpKind>(first + any_count(last - first)),
          any_count(5),
          any_id(),
          any_id(),
          any_access(rank),
          1 + any_count(7)};
}

inline RankPlan any_rank(std::int32_t number) {
  RankPlan rank{number, {}, {}, {}};
  if (*rc::gen::arbitrary<bool>())
    rank.rule = {any_count(9), any_count(9), *rc::gen::arbitrary<bool>(),
                 *rc::gen::element<std::int64_t>(-1, 0, 7)};
  for (int n = any_count(2); n > 0; --n) {
    rank.pairs.push_back({any_count(9), {}, any_size()});
    for (int passive = 1 + any_count(3); passive > 0; --passive)
      rank.pairs.back().passive.push_back(any_count(9));
  }
  for (int n = 1 + any_count(4); n > 0; --n)
    rank.lanes.push_back({any_name(rank.lanes.size()),
                          static_cast<LaneKind>(any_count(static_cast<int>(LaneKind::recv))),
                          any_id()});
  for (int n = any_count(4); n > 0; --n)
    rank.buffers.push_back(
        {any_name(rank.buffers.size()),
         *rc::gen::element(base::DType::fp32, base::DType::fp64, base::DType::int32), any_size(),
         *rc::gen::arbitrary<bool>()});
  for (int p = any_count(3); p > 0; --p) {
    rank.programs.push_back({any_name(rank.programs.size()),
                             any_size(),
                             any_size(),
                             *rc::gen::element<std::int64_t>(1, 1, 0, 12),
                             {},
                             {}});
    for (int n = rank.buffers.empty() ? 0 : any_count(2); n > 0; --n)
      rank.programs.back().wanted.push_back(any_wanted(rank));
    for (int n = any_count(6); n > 0; --n) rank.programs.back().ops.push_back(any_op(rank));
  }
  return rank;
}

inline Plan any_plan() {
  std::vector<Group> groups(static_cast<std::size_t>(any_count(2)));
  for (Group& group : groups)
    for (int n = any_count(4); n > 0; --n) group.ranks.push_back(*rc::gen::inRange(0, 100));
  std::vector<std::int64_t> tails(static_cast<std::size_t>(any_count(3)));
  for (std::int64_t& steps : tails) steps = any_size();
  const Schedule schedule{any_size(),
                          any_size(),
                          tails,
                          *rc::gen::element<std::int64_t>(0, 0, 7),
                          *rc::gen::element<std::int64_t>(0, 0, 3),
                          *rc::gen::element<std::int64_t>(0, 0, 5)};
  std::vector<RankPlan> ranks;
  for (int n = any_count(3); n > 0; --n)
    ranks.push_back(any_rank(static_cast<std::int32_t>(ranks.size())));
  return from_ranks(groups, schedule, ranks);
}

}  // namespace trainyard::plan
