// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/check/replicas.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "core/base/units.h"

namespace trainyard::check {
namespace {

using plan::Access;
using plan::Op;
using plan::OpKind;

// True if the span holds outputs or gradients that ranks pass to each other. The name of the buffer
// decides, as in a run.
bool is_passed(const plan::RankPlan& rank, const Access& span) {
  const std::string& name = rank.buffers[span.buffer.index()].name;
  return name.starts_with("act.s") || name.starts_with("grad.s") || name == "summaries";
}

bool learns(const plan::RankPlan& rank, const Op& op) {
  return (op.kind == OpKind::backward_weight || op.kind == OpKind::zero) && !op.writes.empty() &&
         rank.buffers[op.writes.front().buffer.index()].name == "grads";
}

}  // namespace

Replicas::Replicas(const Scope& scope, const std::string& program) : replica_(scope.ranks.size()) {
  std::iota(replica_.begin(), replica_.end(), 0);
  for (const plan::RankPlan& rank : scope.ranks)
    for (const plan::Program& one : rank.programs) {
      join_members(scope, rank, one);
      find_gradients(rank, one);
      learn_columns(rank, one);
      learn_micro_batches(rank, one);
      for (const Op& op : one.ops)
        if (one.name == program && learns(rank, op))
          learners_[updated_segment(rank.rank, op.segment)].push_back(rank.rank);
    }
}

// Puts ranks into one replica if they pass outputs to each other, or sum outputs together.
void Replicas::join_members(const Scope& scope, const plan::RankPlan& rank,
                            const plan::Program& program) {
  for (const Op& op : program.ops) {
    const auto& spans = op.writes.empty() ? op.reads : op.writes;
    if (plan::communicates(op.kind) && op.group >= 0 && !spans.empty() &&
        is_passed(rank, spans.front()))
      for (const std::int32_t member : scope.groups[static_cast<std::size_t>(op.group)].ranks)
        join(rank.rank, member);
  }
}

void Replicas::join(std::int32_t a, std::int32_t b) {
  const std::int32_t from = of(b), to = of(a);
  std::replace(replica_.begin(), replica_.end(), from, to);
}

// Finds for each gradient the segment whose parameters it updates. With tied parameters this may be
// another segment than the one that computes the gradient.
void Replicas::find_gradients(const plan::RankPlan& rank, const plan::Program& program) {
  for (const Op& update : program.ops) {
    if (update.kind != OpKind::update) continue;
    for (const Op& op : program.ops)
      if (op.kind == OpKind::backward_weight && op.segment != update.segment &&
          op.writes.front() == update.reads.front())
        updated_segments_[{rank.rank, op.segment}] = update.segment;
  }
}

std::int32_t Replicas::updated_segment(std::int32_t rank, std::int32_t segment) const {
  const auto at = updated_segments_.find({rank, segment});
  return at == updated_segments_.end() ? segment : at->second;
}

void Replicas::learn_columns(const plan::RankPlan& rank, const plan::Program& program) {
  for (const Op& op : program.ops)
    if (op.columns.any() && (op.kind == OpKind::forward || op.kind == OpKind::partial))
      columns_[{rank.rank, updated_segment(rank.rank, op.segment)}] = op.columns;
}

void Replicas::learn_micro_batches(const plan::RankPlan& rank, const plan::Program& program) {
  for (const Op& op : program.ops)
    if (op.kind == OpKind::backward_weight)
      passed_[{rank.rank, updated_segment(rank.rank, op.segment)}].emplace(op.segment, op.micro);
}

Replicas::Source Replicas::source(std::int32_t rank, std::int32_t segment) const {
  const auto at = passed_.find({rank, segment});
  return {of(rank), at == passed_.end() ? Passed{} : at->second};
}

plan::Columns Replicas::columns(std::int32_t rank, std::int32_t segment) const {
  const auto at = columns_.find({rank, segment});
  return at == columns_.end() ? plan::Columns{} : at->second;
}

std::optional<std::string> Replicas::flaw(std::int32_t rank, std::int32_t segment,
                                          const std::vector<std::int32_t>& members) const {
  std::set<Source> wanted, found;
  if (const auto learners = learners_.find(segment); learners != learners_.end())
    for (const std::int32_t learner : learners->second) wanted.insert(source(learner, segment));
  for (const std::int32_t member : members) {
    if (!(columns(member, segment) == columns(rank, segment)))
      return fmt::format(
          "the gradient of segment {} is summed with rank {}, which holds other columns", segment,
          member);
    if (!found.insert(source(member, segment)).second)
      return fmt::format(
          "the gradient of segment {} is summed with rank {}, which processes the same samples",
          segment, member);
  }
  if (found == wanted) return std::nullopt;
  return fmt::format("the gradient of segment {} is the sum over {} of {}", segment, found.size(),
                     base::counted(std::ssize(wanted), "replica"));
}

}  // namespace trainyard::check
