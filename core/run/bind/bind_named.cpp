// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/bind/bind_named.h"

#include <algorithm>

namespace trainyard::run {
namespace {

using plan::Access;
using plan::Op;
using plan::OpKind;

// Returns the op that pulls or sends the table rows of the share `bucket`. Its access covers all
// these rows.
const Op* table_op(const plan::RankPlan& plan, std::int32_t bucket) {
  for (const plan::Program& program : plan.programs)
    for (const Op& op : program.ops)
      if (op.named && op.bucket == bucket && (op.kind == OpKind::pull || op.kind == OpKind::give))
        return &op;
  return nullptr;
}

bool carries_list(const Op& op, const plan::RankPlan& plan) {
  return plan::serves(op.kind) && plan::carried(op) != nullptr &&
         plan.buffers[plan::carried(op)->buffer.index()].dtype == base::DType::int32;
}

Access list_of(const Op& op) {
  if (op.named) return op.reads.back();
  const Access& access = op.kind == OpKind::push ? op.reads.front() : op.writes.front();
  return {access.buffer, 0, access.count};
}

}  // namespace

NamedRows table_of(const Op& op, const plan::RankPlan& plan, const model::Model& model) {
  NamedRows named;
  const Access& span = *plan::carried(op);
  named.rows = span.count / op.row;
  named.row_bytes = op.row * base::size_of(plan.buffers[span.buffer.index()].dtype);
  if (op.kind == OpKind::give) return named;
  const auto segment = std::ranges::find_if(
      model.segments, [&](const model::Segment& s) { return span.first < s.first + s.elements; });
  named.first = (span.first - segment->first) / op.row;
  named.slot_count = segment->slot_count;
  return named;
}

void bind_named_rows(const Op& op, const plan::RankPlan& plan, const model::Model& model,
                     const std::function<std::byte*(const Access&)>& address, BoundOp& bound) {
  const bool is_list = op.kind == OpKind::rows || carries_list(op, plan);
  if (!op.named && !is_list) return;
  NamedRows& named = bound.named = table_of(*table_op(plan, op.bucket), plan, model);
  named.is_list = is_list;
  if (op.kind == OpKind::push && op.named) {
    named.packed_rows = reinterpret_cast<std::int32_t*>(address(op.reads.back()));
    return;
  }
  const Access list = list_of(op);
  const std::int64_t lists = plan.rule ? plan.rule->workers : 1;
  named.list = reinterpret_cast<std::int32_t*>(address(list));
  named.most = plan.buffers[list.buffer.index()].elements / lists - plan::kListHead;
  if (op.kind == OpKind::give) named.handed = address(op.writes.back());
  if (op.kind != OpKind::pack) return;
  named.packed_rows = reinterpret_cast<std::int32_t*>(address(op.writes.back()));
  bound.own = address(op.reads.front());
  bound.data = address(op.writes.front());
  bound.bytes =
      op.reads.front().count * base::size_of(plan.buffers[op.reads.front().buffer.index()].dtype);
}

}  // namespace trainyard::run
