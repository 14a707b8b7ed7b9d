// SPDX-License-Identifier: GPL-3.0-or-later
// Star: everybody sends all to member 0, which adds up in order of position and sends the result to
// all. One chunk, 2 rounds. Member 0 receives and sends (n - 1) S, any other sends S: what "reduce
// to one device" means, and what a parameter server on a worker would move.
#include "core/collective/circle.h"
#include "core/collective/tree.h"

namespace trainyard::collective {

Rounds star(const Formation& formation, int position) {
  const Tree tree = star_tree(formation.members, 0);
  Rounds rounds = up_tree(tree, position, 0);
  append(rounds, down_tree(tree, position, 0));
  return rounds;
}

}  // namespace trainyard::collective
