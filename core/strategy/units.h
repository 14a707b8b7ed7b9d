// SPDX-License-Identifier: GPL-3.0-or-later
// Memory of a rank for the units of a sharded model (experiment/fsdp.h).
#pragma once

#include "core/experiment/fsdp.h"
#include "core/strategy/replica_buffers.h"

namespace trainyard::strategy {

enum class UnitPass { forward, backward };

// Positions (slots) of gathered units in a flat buffer. Some units have a permanent slot. The other
// units of a stage share slots in rotation. Every pass of the stage assigns slots in the same way.
class UnitSlots {
 public:
  // Returns slots in which every unit has the same offset as in the model.
  static UnitSlots as_in_model(const std::vector<Bucket>& units, std::int64_t elements);
  // Units of a stage that share slots in rotation, in the order of their use: `forward` in forward
  // passes, `backward` in backward passes. There are `shared` such slots. Each other unit has its
  // own slot. A slot is as long as the longest unit that uses it.
  struct Turns {
    std::vector<std::int32_t> forward, backward;
  };
  UnitSlots(const std::vector<Bucket>& units, const std::vector<Turns>& stages,
            std::int64_t shared);

  bool stays(std::int32_t unit) const { return stays_[static_cast<std::size_t>(unit)]; }
  // Returns the offset of the unit's slot.
  std::int64_t first(std::int32_t unit, UnitPass pass) const {
    return (pass == UnitPass::forward ? forward_ : backward_)[static_cast<std::size_t>(unit)];
  }
  std::int64_t elements() const { return elements_; }

 private:
  UnitSlots() = default;

  // The following vectors are by unit. `stays_`: true if the unit has a permanent slot
  std::vector<bool> stays_;
  std::vector<std::int64_t> forward_, backward_;
  std::int64_t elements_ = 0;
};

// Unit of a sharded model, and the rank's shard of it.
struct Unit {
  Bucket bucket;
  experiment::ElementRange own;   // the shard, as a range of the flat parameters
  std::int64_t shard_offset = 0;  // offset of the shard among the rank's contiguous shards
};

// Units of an experiment as seen by one rank.
struct Units {
  Units(const experiment::Resolved& experiment, std::int32_t rank);

  bool gathers;   // parameters are gathered for each pass and dropped after it; else all are kept
  bool scatters;  // true if gradients are reduce-scattered
  std::int32_t prefetch;
  std::vector<Unit> list;
  std::int64_t own = 0;  // number of elements of the rank's shards
  UnitSlots parameters, gradients;

  std::int32_t count() const { return static_cast<std::int32_t>(list.size()); }
  const Unit& at(std::int32_t unit) const { return list[static_cast<std::size_t>(unit)]; }
  std::int32_t of(int segment) const;  // returns -1 if the segment is in no unit
  Flat flat() const { return {parameters.elements(), gradients.elements(), own}; }
};

}  // namespace trainyard::strategy
