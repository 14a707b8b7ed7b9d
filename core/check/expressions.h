// SPDX-License-Identifier: GPL-3.0-or-later
// Sums of the ranks' contributions as hash-consed trees: equal trees have equal numbers.
// Floating-point addition is commutative bit for bit but not associative, so trees are equal up to
// the order of two summands.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

namespace trainyard::check {

class Expressions {
 public:
  explicit Expressions(std::size_t ranks);

  int leaf(std::int32_t rank) const { return rank; }
  int nothing() const { return nothing_; }  // sum of no ranks
  // Returns nothing if the summands share a rank.
  std::optional<int> add(int a, int b);
  // in this order; equals `add` for two summands
  std::optional<int> sum(const std::vector<int>& summands);
  bool holds_exactly(int expression, const std::vector<std::int32_t>& ranks) const;
  int count(int expression) const;  // number of ranks in it

 private:
  using Members = std::vector<std::uint64_t>;  // bit set by rank
  int enter(Members members);

  std::vector<Members> members_;  // by expression; leaves first
  int nothing_;
  std::unordered_map<std::uint64_t, int> additions_;
  std::map<std::vector<int>, int> sums_;
};

}  // namespace trainyard::check
