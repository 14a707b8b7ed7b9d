// SPDX-License-Identifier: GPL-3.0-or-later
// Sums of the ranks' contributions as hash-consed trees: equal trees have equal numbers.
// Floating-point addition is bitwise commutative but not associative. So two trees are equal if
// they differ only in the order of the two summands of a node.
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
  int nothing() const { return nothing_; }  // index of the empty sum
  // Returns the sum of two expressions; nothing if some rank contributes to both of them.
  std::optional<int> add(int a, int b);
  // adds the summands in the given order; same as `add` for two summands
  std::optional<int> sum(const std::vector<int>& summands);
  bool holds_exactly(int expression, const std::vector<std::int32_t>& ranks) const;
  int count(int expression) const;  // number of ranks that contribute

 private:
  using Members = std::vector<std::uint64_t>;  // set of ranks, one bit per rank
  int enter(Members members);

  // by expression: set of ranks that contribute to it; leaves have the lowest expression numbers
  std::vector<Members> members_;
  int nothing_;
  std::unordered_map<std::uint64_t, int> additions_;
  std::map<std::vector<int>, int> sums_;
};

}  // namespace trainyard::check
