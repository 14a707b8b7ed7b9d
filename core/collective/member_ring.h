// SPDX-License-Identifier: GPL-3.0-or-later
// A ring of some members of the group, used as a building block of algorithms. The members shard a
// range of the buffer: piece i belongs to the i-th of them.
#pragma once

#include "core/collective/algorithm.h"

namespace trainyard::collective {

struct MemberRing {
  std::vector<int> members;  // positions of these members in the group, ascending
  int self = 0;              // index in `members` of the member whose program this is
  int first = 0, width = 1;  // piece i has chunks [first + i * width, first + (i + 1) * width)

  int size() const { return static_cast<int>(members.size()); }
  int at(int index) const {
    return members[static_cast<std::size_t>((index % size() + size()) % size())];
  }
  int chunk(int index) const { return first + (index % size() + size()) % size() * width; }
};

// Returns a ring of all members of the group. Each member's piece is one chunk.
MemberRing full_ring(const Formation& formation, int position);

// Ring phases of n - 1 rounds, for n members. After the reduce-scatter, each member has the sum of
// its piece of the buffer. Before the all-gather, each member has its piece; after it, all pieces.
Rounds ring_reduce_scatter(const MemberRing& circle);
Rounds ring_all_gather(const MemberRing& circle);

// Direct reduce-scatter and all-gather: one round, in which members exchange pieces directly. There
// is no round if there is only one member.
Rounds direct_reduce_scatter(const MemberRing& circle);
Rounds direct_all_gather(const MemberRing& circle);

void append(Rounds& rounds, Rounds more);

}  // namespace trainyard::collective
