// SPDX-License-Identifier: GPL-3.0-or-later
// Symbolic values of buffer elements when parameters are sharded; used by sharding.cpp.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "core/check/weighted_sums.h"
#include "core/plan/plan.h"

namespace trainyard::check {

inline constexpr std::int32_t kAllPositions =
    -1;  // position of values that every rank has in "params"

// rank, segment and micro-step of one term of a gradient
using GradientTerm = std::tuple<std::int32_t, std::int32_t, std::int32_t>;

// Symbolic value of an element, which belongs to the shard of the rank at `position` in its shard
// group.
struct ShardValue {
  enum Kind { nothing, zero, before, after, gradient } kind = nothing;
  std::int32_t position = kAllPositions;
  std::set<GradientTerm> parts = {};  // terms of the gradient; empty for a parameter
  bool operator<(const ShardValue& other) const {
    return std::tie(kind, position, parts) < std::tie(other.kind, other.position, other.parts);
  }
};

// Assigns a number to each symbolic value. `Value::source` is such a number.
class ValueTable {
 public:
  int number(const ShardValue& value);
  const ShardValue& operator[](int number) const { return list_[static_cast<std::size_t>(number)]; }
  // Adds two gradients of the same element. Returns nothing if both contain the same term.
  std::optional<int> sum(int a, int b);

 private:
  std::map<ShardValue, int> numbers_;
  std::vector<ShardValue> list_;
};

bool is_of_gradients(const plan::RankPlan& rank, const plan::Access& span);

// Returns the group that shards the parameters; -1 if no parameters are gathered.
std::int32_t gathering_group(const plan::RankPlan& rank);

// Returns the pieces of a span that begins at `from`, shifted as if the span began at `to`. Joins
// adjacent pieces with equal values.
std::vector<Piece> moved(const std::vector<Piece>& pieces, std::int64_t from, std::int64_t to);

}  // namespace trainyard::check
