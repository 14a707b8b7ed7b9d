// SPDX-License-Identifier: GPL-3.0-or-later
// Parts that algorithms are made of: some members that share out a span of the buffer among
// themselves. Of the pieces that the span is cut into, piece i belongs to the i-th of them.
#pragma once

#include "core/collective/algorithm.h"

namespace trainyard::collective {

struct Circle {
  std::vector<int> members;  // positions in the group, ascending
  int self = 0;              // index in `members` of the one whose program it is
  int first = 0, width = 1;  // chunks: piece i is [first + i * width, + width)

  int size() const { return static_cast<int>(members.size()); }
  int at(int index) const {
    return members[static_cast<std::size_t>((index % size() + size()) % size())];
  }
  int chunk(int index) const { return first + (index % size() + size()) % size() * width; }
};

// All members of the group, a chunk each.
Circle everyone(const Formation& formation, int position);

// Around the ring: n - 1 rounds each. A member ends with the sum of its own piece; begins with its
// own and ends with all.
Rounds ring_reduce_scatter(const Circle& circle);
Rounds ring_all_gather(const Circle& circle);

// Everybody to everybody: one round each, none for one member.
Rounds direct_reduce_scatter(const Circle& circle);
Rounds direct_all_gather(const Circle& circle);

void append(Rounds& rounds, Rounds more);

}  // namespace trainyard::collective
