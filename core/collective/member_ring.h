// SPDX-License-Identifier: GPL-3.0-or-later
// A building block of algorithms: some members of the group, among which a span of the buffer is
// sharded. Piece i of the span belongs to the i-th of these members.
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

// Returns a ring of all members of the group, with one chunk each.
MemberRing full_ring(const Formation& formation, int position);

// Phases in a ring, of n - 1 rounds each. Reduce-scatter: each member ends with the sum of its
// piece. All-gather: each member begins with its piece and ends with all pieces.
Rounds ring_reduce_scatter(const MemberRing& circle);
Rounds ring_all_gather(const MemberRing& circle);

// The same phases with one round each, in which members exchange pieces directly. If there is only
// one member, there is no round.
Rounds direct_reduce_scatter(const MemberRing& circle);
Rounds direct_all_gather(const MemberRing& circle);

void append(Rounds& rounds, Rounds more);

}  // namespace trainyard::collective
