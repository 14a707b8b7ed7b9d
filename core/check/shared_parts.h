// SPDX-License-Identifier: GPL-3.0-or-later
// What an element of a buffer may hold where ranks update but a part of the parameters each: what
// the proof of sharding follows (sharding.cpp).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "core/check/weighted_sums.h"
#include "core/plan/plan.h"

namespace trainyard::check {

inline constexpr std::int32_t kAllOfThem = -1;  // as a position: "params" of every rank

using Learnt =
    std::tuple<std::int32_t, std::int32_t, std::int32_t>;  // by a segment in a micro-step of a rank

// One of those that last on whoever is at this position of a shard group.
struct Thing {
  enum Kind { nothing, zero, before, after, gradient } kind = nothing;
  std::int32_t position = kAllOfThem;
  std::set<Learnt> parts = {};  // of a gradient
  bool operator<(const Thing& other) const {
    return std::tie(kind, position, parts) < std::tie(other.kind, other.position, other.parts);
  }
};

// A number for each: the source of a Value.
class Things {
 public:
  int number(const Thing& thing);
  const Thing& operator[](int number) const { return list_[static_cast<std::size_t>(number)]; }
  // Of two gradients at the same element. Nothing: a part is in both.
  std::optional<int> sum(int a, int b);

 private:
  std::map<Thing, int> numbers_;
  std::vector<Thing> list_;
};

bool is_of_gradients(const plan::RankPlan& rank, const plan::Access& span);

// The group among whose members parameters are shared out; -1: none is gathered.
std::int32_t gathering_group(const plan::RankPlan& rank);

// Pieces of a span that begins at `from`, in one that begins at `to`; neighbours that hold the same
// are one.
std::vector<Piece> moved(const std::vector<Piece>& pieces, std::int64_t from, std::int64_t to);

}  // namespace trainyard::check
