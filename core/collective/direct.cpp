// SPDX-License-Identifier: GPL-3.0-or-later
// Direct all-reduce: member p owns chunk p. In the first round everybody sends each owner its chunk and adds up the own one
// in order of position; in the second every owner sends the sum to all. Rounds: 2. Member p sends S - c[p] and then
// (n - 1) c[p].
#include "core/collective/algorithm.h"

namespace trainyard::collective {

Rounds direct(int members, int position) {
  if (members == 1) return {};
  Round scatter, gather;
  for (int peer = 0; peer < members; ++peer) {
    if (peer == position) continue;
    scatter.push_back({StepKind::send, peer, peer});
    gather.push_back({StepKind::send, peer, position});
    gather.push_back({StepKind::recv, peer, peer});
  }
  scatter.push_back({StepKind::reduce_many, -1, position});
  return {scatter, gather};
}

}  // namespace trainyard::collective
