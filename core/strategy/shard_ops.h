// SPDX-License-Identifier: GPL-3.0-or-later
// Ops of a rank that updates its shard of every unit (units.h).
#pragma once

#include "core/strategy/replica_ops.h"
#include "core/strategy/units.h"

namespace trainyard::strategy {

struct Shards {
  Units units;
  // the rank's shards of all units, contiguous; invalid if the rank has all parameters
  plan::Access parameters = {};
  plan::Access gradients = {};  // gradients of the same shards, contiguous
};

// Appends the buffers of a rank's shards. `peers_read`: true if peers read the shards' gradients,
// because ranks with the same shards sum them.
void add_shard_buffers(Shards& shards, base::DType dtype, bool peers_read, plan::RankPlan& plan);

class ShardOps : protected ReplicaOps {
 protected:
  // `shards`: shards of the rank; null without sharding. No other function of the class may then be
  // called.
  ShardOps(const Replica& replica, const Shards* shards) : ReplicaOps(replica), shards_(shards) {}

  const Units& units() const { return shards_->units; }
  static Access shard_in(const Access& side_by_side, const Unit& unit) {
    return {side_by_side.buffer, unit.shard_offset, unit.own.count};
  }
  static Access shard_in_full(const Access& whole, const Unit& unit) {
    return {whole.buffer, whole.first + unit.own.first - unit.bucket.first, unit.own.count};
  }
  Access shard_gradient(const Unit& unit) const {
    return units().scatters ? shard_in(shards_->gradients, unit) : as_in_model(b_.gradients, unit);
  }

  // Calls `visit(unit, segment)` for every segment that overlaps the rank's shard of a unit, from
  // the last unit to the first.
  template <class Visit>
  void for_each_shard(Visit visit) const {
    for (std::int32_t u = units().count() - 1; u >= 0; --u) {
      const Unit& unit = units().at(u);
      for (int s = unit.bucket.first_segment; s <= unit.bucket.last_segment; ++s)
        if (part_of(shard_gradient(unit), unit.own, segment(s)).count > 0) visit(unit, s);
    }
  }
  Op norm_of_part(const Unit& unit, int s) const {
    return norm(s, part_of(shard_gradient(unit), unit.own, segment(s)));
  }
  Op update_of_part(const Unit& unit, int s) const;

  const Shards* shards_;

 private:
  static Access as_in_model(const Access& flat, const Unit& unit) {
    return {flat.buffer, unit.own.first, unit.own.count};
  }
  // Returns the part of a shard that lies in a segment. `span`: access to the shard in its buffer.
  // `own`: range of the shard in the flat model.
  static Access part_of(const Access& span, const experiment::ElementRange& own,
                        const model::Segment& segment);
};

}  // namespace trainyard::strategy
