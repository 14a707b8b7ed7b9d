// SPDX-License-Identifier: GPL-3.0-or-later
// Where the units of a sharded model lie on a rank (experiment/fsdp.h).
#pragma once

#include "core/experiment/fsdp.h"
#include "core/strategy/replica_buffers.h"

namespace trainyard::strategy {

enum class UnitPass { forward, backward };

// The places of a flat buffer: some units have one of their own, the others take turns, in every
// pass of a stage in the same way.
class Places {
 public:
  // All where they lie in the model.
  static Places as_in_model(const std::vector<Bucket>& units, std::int64_t elements);
  // `passes`: of each stage the units that share so many places, in the order in which they take
  // them, one after the other, forward and then back; the others have one each. A place is as long
  // as the longest that takes it.
  struct Turns {
    std::vector<std::int32_t> forward, backward;
  };
  Places(const std::vector<Bucket>& units, const std::vector<Turns>& stages, std::int64_t shared);

  bool stays(std::int32_t unit) const { return stays_[static_cast<std::size_t>(unit)]; }
  // Where the unit begins.
  std::int64_t first(std::int32_t unit, UnitPass pass) const {
    return (pass == UnitPass::forward ? forward_ : backward_)[static_cast<std::size_t>(unit)];
  }
  std::int64_t elements() const { return elements_; }

 private:
  Places() = default;

  std::vector<bool> stays_;  // as the next ones by unit: whether it has a place of its own
  std::vector<std::int64_t> forward_, backward_;
  std::int64_t elements_ = 0;
};

// What a rank has of a unit.
struct Unit {
  Bucket bucket;
  experiment::Part own;     // of the flat parameters
  std::int64_t own_at = 0;  // where that begins among the rank's own, which lie side by side
};

// Of an experiment as the rank sees it.
struct Units {
  Units(const experiment::Resolved& experiment, std::int32_t rank);

  bool gathers;   // parameters come and go; else all of them are there
  bool scatters;  // so do gradients
  std::int32_t prefetch;
  std::vector<Unit> list;
  std::int64_t own = 0;  // elements
  Places parameters, gradients;

  std::int32_t count() const { return static_cast<std::int32_t>(list.size()); }
  const Unit& at(std::int32_t unit) const { return list[static_cast<std::size_t>(unit)]; }
  std::int32_t of(int segment) const;  // -1: it is in none
  Flat flat() const { return {parameters.elements(), gradients.elements(), own}; }
};

}  // namespace trainyard::strategy
