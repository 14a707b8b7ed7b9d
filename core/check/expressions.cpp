// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/check/expressions.h"

#include <algorithm>
#include <bit>

namespace trainyard::check {

Expressions::Expressions(std::size_t ranks) {
  for (std::size_t r = 0; r < ranks; ++r) {
    Members members((ranks + 63) / 64, 0);
    members[r / 64] |= std::uint64_t{1} << (r % 64);
    enter(std::move(members));
  }
  nothing_ = enter(Members((ranks + 63) / 64, 0));
}

int Expressions::enter(Members members) {
  members_.push_back(std::move(members));
  return static_cast<int>(members_.size()) - 1;
}

std::optional<int> Expressions::add(int a, int b) {
  const auto [low, high] = std::minmax(a, b);
  const std::uint64_t key =
      (static_cast<std::uint64_t>(low) << 32) | static_cast<std::uint64_t>(high);
  if (const auto known = additions_.find(key); known != additions_.end()) return known->second;
  Members members = members_[static_cast<std::size_t>(a)];
  const Members& other = members_[static_cast<std::size_t>(b)];
  for (std::size_t i = 0; i < members.size(); ++i) {
    if ((members[i] & other[i]) != 0) return std::nullopt;
    members[i] |= other[i];
  }
  return additions_[key] = enter(std::move(members));
}

std::optional<int> Expressions::sum(const std::vector<int>& summands) {
  if (summands.size() == 1) return summands.front();
  if (summands.size() == 2) return add(summands[0], summands[1]);
  if (const auto known = sums_.find(summands); known != sums_.end()) return known->second;
  Members members(members_.front().size(), 0);
  for (const int summand : summands)
    for (std::size_t i = 0; i < members.size(); ++i) {
      const std::uint64_t more = members_[static_cast<std::size_t>(summand)][i];
      if ((members[i] & more) != 0) return std::nullopt;
      members[i] |= more;
    }
  return sums_[summands] = enter(std::move(members));
}

int Expressions::count(int expression) const {
  int count = 0;
  for (const std::uint64_t word : members_[static_cast<std::size_t>(expression)])
    count += std::popcount(word);
  return count;
}

bool Expressions::holds_exactly(int expression, const std::vector<std::int32_t>& ranks) const {
  const Members& members = members_[static_cast<std::size_t>(expression)];
  const auto held = [&](std::int32_t rank) {
    return ((members[static_cast<std::size_t>(rank) / 64] >> (rank % 64)) & 1) != 0;
  };
  return count(expression) == static_cast<int>(ranks.size()) &&
         std::all_of(ranks.begin(), ranks.end(), held);
}

}  // namespace trainyard::check
