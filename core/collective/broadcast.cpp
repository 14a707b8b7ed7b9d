// SPDX-License-Identifier: GPL-3.0-or-later
// Broadcast and reduce of a buffer of S bytes between n members, in one chunk. Every member but the
// root receives (broadcast) or sends (reduce) S. Binomial tree: ceil(log2 n) rounds, in each of
// which the root sends or receives S. Star, for the direct algorithms: one round, in which the root
// sends or receives (n - 1) S.
#include "core/collective/tree.h"

namespace trainyard::collective {
namespace {

Tree tree_of(Collective collective, Algorithm algorithm, int members, int root) {
  return program_algorithm(collective, algorithm) == Algorithm::star ? star_tree(members, root)
                                                                     : binomial_tree(members, root);
}

}  // namespace

Rounds broadcast(Algorithm algorithm, const Formation& formation, int position, int root) {
  return down_tree(tree_of(Collective::broadcast, algorithm, formation.members, root), position, 0);
}

Rounds reduce(Algorithm algorithm, const Formation& formation, int position, int root) {
  return up_tree(tree_of(Collective::reduce, algorithm, formation.members, root), position, 0);
}

}  // namespace trainyard::collective
