// SPDX-License-Identifier: GPL-3.0-or-later
// All-to-all, the naive all-reduce: every member sends its full buffer to every other, and each
// sums locally in order of position. One round of sends, one chunk. With n members and a buffer of
// S bytes, every member sends S to each of n - 1 others. Sums stay in scratch until the peers have
// read the buffer, which takes another S of memory.
#include "core/collective/member_ring.h"

namespace trainyard::collective {

Rounds all_to_all(const Formation& formation, int position) {
  if (formation.members == 1) return {};
  const std::vector<int> members = full_ring(formation, position).members;
  Round round;
  for (const int peer : members)
    if (peer != position) round.push_back({StepKind::send, peer, 0});
  round.push_back({StepKind::sum_to_scratch, -1, 0, 1, members});
  return {round, {{StepKind::copy_from_scratch, -1, 0}}};
}

}  // namespace trainyard::collective
