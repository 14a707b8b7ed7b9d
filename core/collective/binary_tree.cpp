// SPDX-License-Identifier: GPL-3.0-or-later
// All-reduce over a binary tree: member p has the children 2 p + 1 and 2 p + 2. One chunk. Rounds:
// 2 floor(log2 n) for n members. S is the bytes of the buffer: a member with a parent and two
// children sends 3 S, the root sends 2 S, and a leaf sends S. All members together send 2 (n - 1)
// S.
#include "core/collective/member_ring.h"
#include "core/collective/tree.h"

namespace trainyard::collective {

Rounds binary_tree(const Formation& formation, int position) {
  Tree tree;
  for (int p = 0; p < formation.members; ++p) tree.parent.push_back(p == 0 ? -1 : (p - 1) / 2);
  Rounds rounds = up_tree(tree, position, 0);
  append(rounds, down_tree(tree, position, 0));
  return rounds;
}

}  // namespace trainyard::collective
