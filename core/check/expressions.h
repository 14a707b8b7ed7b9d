// SPDX-License-Identifier: GPL-3.0-or-later
// Sums of ranks' contributions as trees, each tree kept once, so that equal trees have equal
// numbers. A binary addition of floating-point numbers commutes bit for bit but does not associate,
// so trees are equal up to the order of two summands.
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
  int nothing() const { return nothing_; }  // of no rank
  // Nothing when the summands share a rank.
  std::optional<int> add(int a, int b);
  std::optional<int> sum(const std::vector<int>& summands);  // in this order; of two: `add`
  bool holds_exactly(int expression, const std::vector<std::int32_t>& ranks) const;
  int count(int expression) const;  // ranks in it

 private:
  using Members = std::vector<std::uint64_t>;  // bit by rank
  int enter(Members members);

  std::vector<Members> members_;  // by expression; the first are the leaves
  int nothing_;
  std::unordered_map<std::uint64_t, int> additions_;
  std::map<std::vector<int>, int> sums_;
};

}  // namespace trainyard::check
