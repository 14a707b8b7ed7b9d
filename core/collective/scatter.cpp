// SPDX-License-Identifier: GPL-3.0-or-later
// Scatter and gather: each member's chunk is sent from the root (scatter) or to it (gather), in one
// round. All sends together: S - c[root].
#include "core/collective/algorithm.h"

namespace trainyard::collective {
namespace {

// Returns a program of one round between the root and all others. `at_root`: kind of the root's
// step for the chunk of each other member. `at_others`: kind of each other member's step for its
// chunk.
Rounds between(const Formation& formation, int position, int root, StepKind at_root,
               StepKind at_others) {
  if (formation.members == 1) return {};
  if (position != root) return {{{at_others, root, position}}};
  Round round;
  for (int peer = 0; peer < formation.members; ++peer)
    if (peer != root) round.push_back({at_root, peer, peer});
  return {round};
}

}  // namespace

Rounds scatter(const Formation& formation, int position, int root) {
  return between(formation, position, root, StepKind::send, StepKind::recv);
}
Rounds gather(const Formation& formation, int position, int root) {
  return between(formation, position, root, StepKind::recv, StepKind::send);
}

}  // namespace trainyard::collective
