// SPDX-License-Identifier: GPL-3.0-or-later
// Direct all-reduce: member p owns chunk p. In the first round every member sends each chunk to the
// owner of the chunk, and the owner sums the received chunks in order of position. In the second
// round every owner sends its sum to all members. Rounds: 2. Member p sends S - c[p] and then (n -
// 1) c[p] bytes. S is the bytes of the buffer, c[p] of chunk p.
#include "core/collective/member_ring.h"

namespace trainyard::collective {

Rounds direct_reduce_scatter(const MemberRing& c) {
  if (c.size() == 1) return {};
  Round round;
  for (int i = 0; i < c.size(); ++i)
    if (i != c.self) round.push_back({StepKind::send, c.at(i), c.chunk(i), c.width});
  round.push_back({StepKind::reduce_many, -1, c.chunk(c.self), c.width, c.members});
  return {round};
}

Rounds direct_all_gather(const MemberRing& c) {
  if (c.size() == 1) return {};
  Round round;
  for (int i = 0; i < c.size(); ++i) {
    if (i == c.self) continue;
    round.push_back({StepKind::send, c.at(i), c.chunk(c.self), c.width});
    round.push_back({StepKind::recv, c.at(i), c.chunk(i), c.width});
  }
  return {round};
}

Rounds direct(const Formation& formation, int position) {
  const MemberRing circle = full_ring(formation, position);
  Rounds rounds = direct_reduce_scatter(circle);
  append(rounds, direct_all_gather(circle));
  return rounds;
}

}  // namespace trainyard::collective
