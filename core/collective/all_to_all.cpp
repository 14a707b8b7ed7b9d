// SPDX-License-Identifier: GPL-3.0-or-later
// All to all, the naive one: everybody sends all it has to everybody, and each adds up for itself,
// in order of position. One round on the wire, one chunk. Every member sends (n - 1) S. The sums
// are put aside until the peers have read what they were sent, so a second buffer of S is needed.
#include "core/collective/circle.h"

namespace trainyard::collective {

Rounds all_to_all(const Formation& formation, int position) {
  if (formation.members == 1) return {};
  const std::vector<int> members = everyone(formation, position).members;
  Round round;
  for (const int peer : members)
    if (peer != position) round.push_back({StepKind::send, peer, 0});
  round.push_back({StepKind::sum_aside, -1, 0, 1, members});
  return {round, {{StepKind::put_back, -1, 0}}};
}

}  // namespace trainyard::collective
