// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/check/vertical.h"

#include <fmt/core.h>

#include <algorithm>

namespace trainyard::check {
namespace {

using plan::Op;
using plan::OpKind;

// True if the rank has rows in the bucket. Otherwise the bucket may hold values of an earlier
// micro-step on this rank.
bool has_rows(const Bucket& bucket, const std::vector<std::int32_t>& members, std::int32_t rank) {
  const auto position =
      static_cast<std::size_t>(std::find(members.begin(), members.end(), rank) - members.begin());
  return bucket.chunk(members.size(), position).second > 0;
}

std::string describe(const plan::Columns& columns) {
  return fmt::format("columns {}:{}", columns.first, columns.first + columns.count);
}

}  // namespace

Vertical::Vertical(const Scope& scope, const std::string& program, const Buckets& buckets) {
  std::vector<const plan::Program*> programs;
  for (const plan::RankPlan& rank : scope.ranks) {
    const int number = rank.program(program);
    programs.push_back(number < 0 ? nullptr : &rank.programs[static_cast<std::size_t>(number)]);
  }
  find_segments(programs);
  if (segments_.empty()) return;
  for (std::size_t r = 0; r < programs.size(); ++r)
    if (programs[r] != nullptr) find_makers(static_cast<std::int32_t>(r), *programs[r], buckets);
  judge(buckets, scope);
  for (std::size_t r = 0; r < programs.size(); ++r)
    if (programs[r] != nullptr) check_columns_of(static_cast<std::int32_t>(r), *programs[r]);
}

// If ranks load only some columns, finds the segments with a PART op. Otherwise PART ops belong to
// split layers (layers.h).
void Vertical::find_segments(const std::vector<const plan::Program*>& programs) {
  const auto loads_columns = [](const plan::Program* program) {
    return program != nullptr &&
           std::any_of(program->ops.begin(), program->ops.end(),
                       [](const Op& op) { return op.kind == OpKind::load && op.columns.any(); });
  };
  if (std::none_of(programs.begin(), programs.end(), loads_columns)) return;
  for (const plan::Program* program : programs)
    for (std::size_t i = 0; program != nullptr && i < program->ops.size(); ++i)
      if (program->ops[i].kind == OpKind::partial) segments_.insert(program->ops[i].segment);
}

// Finds, in program order, the last op that writes a bucket's buffer before the bucket is
// exchanged. Other checks prove that a run keeps this order of accesses.
void Vertical::find_makers(std::int32_t rank, const plan::Program& program,
                           const Buckets& buckets) {
  std::map<std::int32_t, Made> last;  // last write, by buffer
  std::set<std::pair<std::int32_t, std::int32_t>> seen;
  for (const Op& op : program.ops) {
    const bool makes = op.kind == OpKind::partial || op.kind == OpKind::backward_input;
    if (makes && segments_.contains(op.segment))
      for (const plan::Access& write : op.writes) last[write.buffer.value] = {op.micro, op.columns};
    if (!plan::communicates(op.kind) || !seen.insert({op.group, op.bucket}).second) continue;
    const Bucket& bucket = buckets.at({op.group, op.bucket});
    const auto made = last.find(bucket.homes.at(rank).buffer.value);
    const bool shares_rows =
        bucket.wanted == OpKind::reduce_scatter || bucket.wanted == OpKind::all_gather;
    if (shares_rows && made != last.end()) makers_[{op.group, op.bucket}][rank] = made->second;
  }
}

void Vertical::judge(const Buckets& buckets, const Scope& scope) {
  for (const auto& [key, made] : makers_) {
    const Bucket& bucket = buckets.at(key);
    const auto& members = scope.groups[static_cast<std::size_t>(bucket.group)].ranks;
    const bool sums = bucket.wanted == OpKind::reduce_scatter;
    std::int32_t micro = -1;
    for (const auto& [rank, what] : made) micro = std::max(micro, what.micro);
    buckets_[key] = micro;
    (sums ? sums_ : gradients_)[micro] = &bucket;
    for (const auto& [rank, what] : made)
      if (what.micro != micro && (sums || has_rows(bucket, members, rank)))
        return fail(rank, fmt::format("bucket {} holds values of micro-step {} on this rank, but "
                                      "of micro-step {} on other ranks",
                                      bucket.number, what.micro, micro));
    if (!sums) continue;
    for (const plan::RankPlan& rank : scope.ranks)
      if (std::find(members.begin(), members.end(), rank.rank) == members.end() ||
          !made.contains(rank.rank))
        return fail(rank.rank,
                    fmt::format("the rank does not add the products of its columns to bucket {}",
                                bucket.number));
    check_columns(bucket, members);
  }
}

void Vertical::check_columns(const Bucket& bucket, const std::vector<std::int32_t>& members) {
  const auto& made = makers_.at({bucket.group, bucket.number});
  std::vector<std::pair<plan::Columns, std::int32_t>> all;
  for (const std::int32_t rank : members) all.emplace_back(made.at(rank).columns, rank);
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a.first.first < b.first.first; });
  std::int64_t next = 0;
  for (const auto& [columns, rank] : all) {
    if (columns.first != next || columns.of != all.front().first.of)
      return fail(rank, fmt::format("the rank has {}, but the next columns must begin at {}",
                                    describe(columns), next));
    next = columns.first + columns.count;
  }
  if (next != all.front().first.of)
    fail(all.back().second, fmt::format("the rank has {}, but no rank has the columns from {} on",
                                        describe(all.back().first), next));
}

// Checks that a rank uses the same columns when it loads samples, multiplies and computes
// gradients.
void Vertical::check_columns_of(std::int32_t rank, const plan::Program& program) {
  std::optional<plan::Columns> own;
  for (const Op& op : program.ops) {
    const bool counts = op.kind == OpKind::load || op.kind == OpKind::partial ||
                        (op.kind == OpKind::backward_weight && segments_.contains(op.segment));
    if (!counts) continue;
    if (!own) own = op.columns;
    if (*own != op.columns || !op.columns.any())
      return fail(rank, "the rank loads, multiplies and computes gradients for different columns");
  }
}

void Vertical::fail(std::int32_t rank, std::string what) {
  if (!flaw_) flaw_ = Flaw{rank, std::move(what)};
}

std::optional<Vertical::Reading> Vertical::reading(const Op& op) const {
  if (!segments_.contains(op.segment) ||
      (op.kind != OpKind::forward && op.kind != OpKind::backward_weight))
    return std::nullopt;
  const auto& by_micro = op.kind == OpKind::forward ? sums_ : gradients_;
  const auto at = by_micro.find(op.micro);
  return Reading{at == by_micro.end() ? nullptr : at->second};
}

void Vertical::write(std::int32_t rank, const Op& op) {
  if (!segments_.contains(op.segment) ||
      (op.kind != OpKind::partial && op.kind != OpKind::backward_input))
    return;
  for (const plan::Access& write : op.writes) stands_[{rank, write.buffer.value}] = op.micro;
}

// True if the bucket holds values of this micro-step, or if the rank has no rows in the bucket, so
// that older values do not matter.
bool Vertical::of_its_micro_step(std::int32_t rank, const Bucket& bucket,
                                 std::int32_t micro) const {
  const auto at = stands_.find({rank, bucket.homes.at(rank).buffer.value});
  if (at == stands_.end()) return bucket.wanted == OpKind::all_gather;
  return at->second == micro || (bucket.wanted == OpKind::all_gather && at->second < micro);
}

}  // namespace trainyard::check
