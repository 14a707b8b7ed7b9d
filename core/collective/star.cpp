// SPDX-License-Identifier: GPL-3.0-or-later
// Star: every member sends its full buffer to member 0, which sums in order of position and sends
// the result to all. One chunk, 2 rounds. With n members and S bytes, member 0 receives and sends
// (n - 1) S, any other sends S. This is "reduce to one device". A worker of a parameter server has
// the same traffic.
#include "core/collective/member_ring.h"
#include "core/collective/tree.h"

namespace trainyard::collective {

Rounds star(const Formation& formation, int position) {
  const Tree tree = star_tree(formation.members, 0);
  Rounds rounds = up_tree(tree, position, 0);
  append(rounds, down_tree(tree, position, 0));
  return rounds;
}

}  // namespace trainyard::collective
