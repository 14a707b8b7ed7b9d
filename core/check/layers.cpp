// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/check/layers.h"

#include <fmt/core.h>

#include <algorithm>

namespace trainyard::check {
namespace {

using plan::Access;
using plan::Op;
using plan::OpKind;

bool has_part(const Op& op) {
  return op.columns.any() && (op.kind == OpKind::partial || op.kind == OpKind::forward ||
                              op.kind == OpKind::backward_input || op.kind == OpKind::softmax);
}

// True if the written span holds the gradient that this rank computes. The name of the buffer
// decides, as in a run.
bool is_own_gradient(const plan::RankPlan& rank, const Op& op, const Access& written) {
  return rank.buffers[written.buffer.index()].name == "grad.s" + std::to_string(op.segment);
}

}  // namespace

Layers::Layers(const Scope& scope, const std::string& program, Buckets& buckets) : scope_(scope) {
  for (const plan::RankPlan& rank : scope.ranks)
    for (const plan::Program& one : rank.programs)
      for (const Op& op : one.ops) {
        if (op.kind == OpKind::load && op.columns.any()) return;
        split_ = split_ || has_part(op);
      }
  if (!split_) return;
  for (const plan::RankPlan& rank : scope.ranks)
    if (const int number = rank.program(program); number >= 0)
      find(rank, rank.programs[static_cast<std::size_t>(number)], buckets);
  for (const auto& [part, made] : made_) check_columns(part, made), check_members(part, made);
}

void Layers::find(const plan::RankPlan& rank, const plan::Program& program, Buckets& buckets) {
  for (const Op& op : program.ops)
    if (has_part(op))
      made_[{op.kind, op.segment, op.micro, find_buckets(rank, op, buckets)}].push_back(
          {rank.rank, op.columns});
}

// Returns the group that sums or gathers the op's partial result of a split layer; -1 if the op
// writes no partial result.
std::int32_t Layers::find_buckets(const plan::RankPlan& rank, const Op& op, Buckets& buckets) {
  std::int32_t group = -1;
  for (const Access& written : op.writes) {
    if (!makes(rank.rank, op, written)) continue;
    std::int64_t covered = 0;
    for (const Overlap& o : overlaps(buckets, rank.rank, written)) {
      group = o.bucket->group;
      buckets_.insert({group, o.bucket->number});
      covered += o.bucket->cuts[o.last] - o.bucket->cuts[o.first];
    }
    if (covered < written.count)
      fail(rank.rank, fmt::format("the partial result of {} in {} is never {}", plan::token(op),
                                  range_text(rank, written),
                                  op.kind == OpKind::softmax ? "gathered" : "summed over ranks"));
  }
  return group;
}

bool Layers::makes(std::int32_t rank, const Op& op, const Access& written) const {
  if (!split_ || !has_part(op) || op.kind == OpKind::forward) return false;
  return op.kind != OpKind::backward_input || !is_own_gradient(scope_.rank(rank), op, written);
}

bool Layers::of_its_micro_step(std::int32_t rank, const Bucket& bucket, std::int32_t micro) const {
  const auto at = micro_.find({rank, bucket.group, bucket.number});
  return at != micro_.end() && at->second == micro;
}

namespace {

std::string describe(OpKind kind, std::int32_t segment) {
  return segment < 0 ? fmt::format("{} of the loss", plan::word(kind))
                     : fmt::format("{} of segment {}", plan::word(kind), segment);
}

}  // namespace

// If partial results are not summed, requires only that every column is computed equally often.
// With several replicas a column is computed more than once.
void Layers::check_columns(const PartialResult& part, std::vector<Made> made) {
  std::stable_sort(made.begin(), made.end(),
                   [](const Made& a, const Made& b) { return a.columns.first < b.columns.first; });
  const auto alike = [&](const Made& one) { return one.columns.first == 0; };
  const std::size_t times = part.group >= 0
                                ? 1
                                : static_cast<std::size_t>(std::max<std::ptrdiff_t>(
                                      1, std::count_if(made.begin(), made.end(), alike)));
  const std::string of = describe(part.kind, part.segment);
  std::int64_t next = 0;
  for (std::size_t i = 0; i < made.size(); ++i) {
    const Made& one = made[i];
    const std::int64_t first = i % times == 0 ? next : made[i - 1].columns.first;
    if (one.columns.first != first || one.columns.of != made.front().columns.of ||
        (i % times > 0 && one.columns.count != made[i - 1].columns.count))
      return fail(
          one.rank,
          fmt::format("{} has columns {}:{} of {}, but the columns from {} of {} are missing", of,
                      one.columns.first, one.columns.first + one.columns.count, one.columns.of,
                      first, made.front().columns.of));
    next = one.columns.first + one.columns.count;
  }
  if (next != made.front().columns.of || made.size() % times != 0)
    return fail(
        made.back().rank,
        fmt::format("the ranks of {} have columns up to {}, but no rank has the remaining columns",
                    of, next - 1));
}

void Layers::check_members(const PartialResult& part, const std::vector<Made>& made) {
  if (part.group < 0) return;
  for (const std::int32_t rank : scope_.groups[static_cast<std::size_t>(part.group)].ranks)
    if (std::count_if(made.begin(), made.end(),
                      [&](const Made& one) { return one.rank == rank; }) != 1)
      return fail(rank, fmt::format("the rank does not compute exactly one partial result in {}",
                                    describe(part.kind, part.segment)));
}

void Layers::fail(std::int32_t rank, std::string what) {
  if (!flaw_) flaw_ = Flaw{rank, std::move(what)};
}

}  // namespace trainyard::check
