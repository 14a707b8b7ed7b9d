// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/check/cells.h"

#include <algorithm>

namespace trainyard::check {
namespace {

using plan::Access;
using plan::Op;

// Returns for each buffer all elements at which an access of any program starts or ends, ascending.
std::vector<std::vector<std::int64_t>> cuts_of(const plan::RankPlan& rank) {
  std::vector<std::vector<std::int64_t>> all(rank.buffers.size());
  for (const plan::Program& program : rank.programs)
    for (const Op& op : program.ops)
      for (const auto* accesses : {&op.reads, &op.writes})
        for (const Access& access : *accesses) {
          auto& cuts = all[access.buffer.index()];
          cuts.insert(cuts.end(), {access.first, access.first + access.count});
        }
  for (auto& cuts : all) {
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  }
  return all;
}

// True for the root of a broadcast or scatter. If the collective is a single op (not expanded), the
// op reads and writes its span on every member, but on the root the span does not change.
bool is_copy_root(const Op& op, std::int32_t rank) {
  return (op.kind == plan::OpKind::broadcast || op.kind == plan::OpKind::scatter) &&
         op.peer == rank;
}

}  // namespace

Cells::Cells(const plan::RankPlan& rank) : cuts_(cuts_of(rank)), spans_(rank.programs.size()) {
  const Cell untouched{-1, -1, std::vector<std::int64_t>(rank.lanes.size(), -1)};
  for (const auto& cuts : cuts_) cells_.emplace_back(cuts.size(), untouched);
  for (std::size_t p = 0; p < rank.programs.size(); ++p)
    for (const Op& op : rank.programs[p].ops)
      spans_[p].push_back(
          {spans(op.reads), is_copy_root(op, rank.rank) ? std::vector<Span>() : spans(op.writes)});
}

Access Cells::range(std::size_t buffer, std::size_t number) const {
  return {plan::BufferId(buffer), cuts_[buffer][number],
          cuts_[buffer][number + 1] - cuts_[buffer][number]};
}

std::vector<Span> Cells::spans(const std::vector<Access>& accesses) const {
  std::vector<Span> list;
  for (const Access& access : accesses) {
    const auto& cuts = cuts_[access.buffer.index()];
    const auto number = [&](std::int64_t element) {
      return static_cast<std::size_t>(std::lower_bound(cuts.begin(), cuts.end(), element) -
                                      cuts.begin());
    };
    list.push_back(
        {access.buffer.index(), number(access.first), number(access.first + access.count)});
  }
  return list;
}

}  // namespace trainyard::check
