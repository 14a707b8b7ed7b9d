// SPDX-License-Identifier: GPL-3.0-or-later
// Broadcast and reduce: one chunk, S from or to every member but the root. Down or up a binomial
// tree: ceil(log2 n) rounds, in which the root sends or receives as many times S. At once, for the
// algorithms that do everything at once: one round, (n - 1) S.
#include "core/collective/tree.h"

namespace trainyard::collective {
namespace {

Tree tree_of(Collective collective, Algorithm algorithm, int members, int root) {
  return carried_out_as(collective, algorithm) == Algorithm::star ? star_tree(members, root)
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
