// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/strategy/shard_ops.h"

#include <algorithm>

#include "core/strategy/edit.h"

namespace trainyard::strategy {

void add_shard_buffers(Shards& shards, base::DType dtype, bool peers_read, plan::RankPlan& plan) {
  if (shards.units.gathers) shards.parameters = add_buffer(plan, "shard", dtype, shards.units.own);
  if (shards.units.scatters)
    shards.gradients = add_buffer(plan, "grad_shard", dtype, shards.units.own, peers_read);
}

plan::Access ShardOps::part_of(const Access& span, const experiment::ElementRange& own,
                               const model::Segment& segment) {
  const std::int64_t first = std::max(own.first, segment.first),
                     end = std::min(own.first + own.count, segment.first + segment.elements);
  return {span.buffer, span.first + first - own.first, std::max<std::int64_t>(end - first, 0)};
}

plan::Op ShardOps::update_of_part(const Unit& unit, int s) const {
  const auto part = [&](const Access& span) { return part_of(span, unit.own, segment(s)); };
  const Access parameters =
      units().gathers ? shard_in(shards_->parameters, unit) : as_in_model(b_.parameters, unit);
  std::vector<Access> moments;
  for (const Access& moment : b_.moments) moments.push_back(part(shard_in(moment, unit)));
  return update(s, part(shard_gradient(unit)), part(parameters), moments);
}

}  // namespace trainyard::strategy
