// SPDX-License-Identifier: GPL-3.0-or-later
// All-reduce over two trees, each for one half of the buffer (Sanders, Speck and Träff 2009). In
// the first tree, odd positions are leaves. The second tree is the first one mirrored (n even) or
// shifted by one (n odd). So an inner node of one tree is a leaf of the other, except for one
// member at an end of an odd group. Chunk t uses tree t. No member sends more than twice the
// buffer, plus one element if the number of elements is odd. Rounds: twice the height.
#include "core/collective/member_ring.h"
#include "core/collective/tree.h"

namespace trainyard::collective {
namespace {

// Returns the parent in the first tree, whose root is position 0. Let b be the lowest set bit of a
// position. The parent is the position in which b is replaced by the next higher bit. If that
// position does not exist, the parent is the position without b.
int parent(int position, int members) {
  if (position == 0) return -1;
  const int lowest = position & -position, without = position ^ lowest,
            above = without | (lowest << 1);
  return above < members ? above : without;
}

// Merges round t of both trees, for every t, so that the two trees run at the same time. The trees
// have equal height.
Rounds both(Rounds first, const Rounds& second) {
  for (std::size_t t = 0; t < first.size(); ++t)
    first[t].insert(first[t].end(), second[t].begin(), second[t].end());
  return first;
}

}  // namespace

Rounds double_binary_tree(const Formation& formation, int position) {
  const int n = formation.members;
  const auto moved = [&](int p) { return n % 2 == 0 ? n - 1 - p : (p + n - 1) % n; };
  const auto back = [&](int p) { return n % 2 == 0 ? n - 1 - p : (p + 1) % n; };
  Tree first, second;
  for (int p = 0; p < n; ++p) {
    first.parent.push_back(parent(p, n));
    const int above = parent(moved(p), n);
    second.parent.push_back(above < 0 ? -1 : back(above));
  }
  Rounds rounds = both(up_tree(first, position, 0), up_tree(second, position, 1));
  append(rounds, both(down_tree(first, position, 0), down_tree(second, position, 1)));
  return rounds;
}

}  // namespace trainyard::collective
