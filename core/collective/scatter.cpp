// SPDX-License-Identifier: GPL-3.0-or-later
// Scatter and gather: each member's chunk is sent from the root (scatter) or to it (gather), in one
// round. All sends together: S - c[root] bytes, where S is the buffer and c[root] the root's chunk.
#include "core/collective/algorithm.h"

namespace trainyard::collective {
namespace {

// Returns a member's program of one round between the root and all others. `at_root`: step of the
// root for each other member's chunk. `at_others`: step of each other member for its own chunk.
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
