// SPDX-License-Identifier: GPL-3.0-or-later
// A rooted tree over the members of a group, with its reduce and broadcast. The levels of the tree
// work on one segment one after another. With several segments, all levels are busy at the same
// time, each with a different segment.
#pragma once

#include "core/collective/algorithm.h"

namespace trainyard::collective {

struct Tree {
  std::vector<int> parent;  // parent by position; -1 for the root

  int depth(int position) const;  // returns 0 for the root
  int height() const;             // greatest depth of a member
  std::vector<int> children(int position) const;
};

// Each returns the program of a member: a reduce to the root, or a broadcast from the root. There
// is one round per level of the tree.
Rounds up_tree(const Tree& tree, int position, int chunk);
Rounds down_tree(const Tree& tree, int position, int chunk);

// Returns a tree of height 1: every member is a child of the root.
Tree star_tree(int members, int root);

// Returns a binomial tree, of height ceil(log2 n). If members are counted from the root, the parent
// of member i is i without its highest set bit.
Tree binomial_tree(int members, int root);

}  // namespace trainyard::collective
