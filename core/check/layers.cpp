// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/check/layers.h"

#include <algorithm>

namespace trainyard::check {
namespace {

using plan::Access;
using plan::Op;
using plan::OpKind;

bool has_part(const Op& op) {
  return op.columns.any() && (op.kind == OpKind::partial || op.kind == OpKind::forward || op.kind == OpKind::backward_input || op.kind == OpKind::softmax);
}

// By the name of a buffer, by which binding goes too.
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
    if (const int number = rank.program(program); number >= 0) find(rank, rank.programs[static_cast<std::size_t>(number)], buckets);
  for (const auto& [part, made] : made_) judge_columns(scope, part, made);
}

void Layers::find(const plan::RankPlan& rank, const plan::Program& program, Buckets& buckets) {
  for (const Op& op : program.ops) {
    if (!has_part(op)) continue;
    made_[{op.kind, op.segment, op.micro}].push_back({rank.rank, op.columns});
    for (const Access& written : op.writes) {
      if (!makes(rank.rank, op, written)) continue;
      const auto found = overlaps(buckets, rank.rank, written);
      std::int64_t covered = 0;
      for (const Overlap& o : found) {
        buckets_.insert({o.bucket->group, o.bucket->number});
        covered += o.bucket->cuts[o.last] - o.bucket->cuts[o.first];
      }
      if (covered < written.count)
        fail(rank.rank, "makes its part of " + range_text(rank, written) + " in " + plan::token(op) + ", which is " +
                            (op.kind == OpKind::softmax ? "gathered" : "summed") + " by nobody");
    }
  }
}

bool Layers::makes(std::int32_t rank, const Op& op, const Access& written) const {
  if (!split_ || !has_part(op) || op.kind == OpKind::forward) return false;
  return op.kind != OpKind::backward_input || !is_own_gradient(scope_.rank(rank), op, written);
}

bool Layers::of_its_micro_step(std::int32_t rank, const Bucket& bucket, std::int32_t micro) const {
  const auto at = micro_.find({rank, bucket.group, bucket.number});
  return at != micro_.end() && at->second == micro;
}

void Layers::judge_columns(const Scope& scope, const Part& part, std::vector<Made> made) {
  std::sort(made.begin(), made.end(), [](const Made& a, const Made& b) { return a.columns.first < b.columns.first; });
  const std::string of =
      std::string(plan::word(std::get<0>(part))) + (std::get<1>(part) < 0 ? " of the loss" : " of segment " + std::to_string(std::get<1>(part)));
  std::int64_t next = 0;
  for (const Made& one : made) {
    if (one.columns.first != next || one.columns.of != made.front().columns.of)
      return fail(one.rank, "has in " + of + " columns from " + std::to_string(one.columns.first) + " on of " + std::to_string(one.columns.of) +
                                ", where those from " + std::to_string(next) + " on of " + std::to_string(made.front().columns.of) + " are wanted");
    next = one.columns.first + one.columns.count;
  }
  if (next != made.front().columns.of)
    return fail(made.back().rank, "has in " + of + " columns up to " + std::to_string(next - 1) + ", and nobody has those after them");
  for (const plan::RankPlan& rank : scope.ranks)
    if (std::count_if(made.begin(), made.end(), [&](const Made& one) { return one.rank == rank.rank; }) != 1)
      return fail(rank.rank, "has no part of its own in " + of);
}

void Layers::fail(std::int32_t rank, std::string what) {
  if (!flaw_) flaw_ = Flaw{rank, std::move(what)};
}

}  // namespace trainyard::check
