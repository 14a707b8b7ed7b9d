// SPDX-License-Identifier: GPL-3.0-or-later
// Memory of a rank for the units of a sharded model (experiment/fsdp.h).
#pragma once

#include "core/experiment/fsdp.h"
#include "core/strategy/replica_buffers.h"

namespace trainyard::strategy {

enum class UnitPass { forward, backward };

// Slots of a flat buffer: some units have a permanent slot, the others share slots in rotation, in
// the same way in every pass of a stage.
class UnitSlots {
 public:
  // All units at their offsets in the model.
  static UnitSlots as_in_model(const std::vector<Bucket>& units, std::int64_t elements);
  // Units of each stage that share `shared` slots in rotation, in the order of use, forward and
  // then backward; all other units have a slot each. A slot is as long as the longest unit that
  // uses it.
  struct Turns {
    std::vector<std::int32_t> forward, backward;
  };
  UnitSlots(const std::vector<Bucket>& units, const std::vector<Turns>& stages,
            std::int64_t shared);

  bool stays(std::int32_t unit) const { return stays_[static_cast<std::size_t>(unit)]; }
  // Returns the start of the unit.
  std::int64_t first(std::int32_t unit, UnitPass pass) const {
    return (pass == UnitPass::forward ? forward_ : backward_)[static_cast<std::size_t>(unit)];
  }
  std::int64_t elements() const { return elements_; }

 private:
  UnitSlots() = default;

  std::vector<bool> stays_;  // by unit, like the next two: has a permanent slot
  std::vector<std::int64_t> forward_, backward_;
  std::int64_t elements_ = 0;
};

// Shard of a rank in a unit.
struct Unit {
  Bucket bucket;
  experiment::ElementRange own;   // in the flat parameters
  std::int64_t shard_offset = 0;  // offset among the rank's contiguous shards
};

// Units of an experiment as seen by one rank.
struct Units {
  Units(const experiment::Resolved& experiment, std::int32_t rank);

  bool gathers;   // parameters are gathered and dropped; else all are kept
  bool scatters;  // gradients are reduce-scattered
  std::int32_t prefetch;
  std::vector<Unit> list;
  std::int64_t own = 0;  // elements of the rank's shards
  UnitSlots parameters, gradients;

  std::int32_t count() const { return static_cast<std::int32_t>(list.size()); }
  const Unit& at(std::int32_t unit) const { return list[static_cast<std::size_t>(unit)]; }
  std::int32_t of(int segment) const;  // -1 if it is in none
  Flat flat() const { return {parameters.elements(), gradients.elements(), own}; }
};

}  // namespace trainyard::strategy
