// SPDX-License-Identifier: GPL-3.0-or-later
// A rooted tree over the members of a group, with its reduce and broadcast. It is not pipelined;
// segments of the buffer keep all levels busy.
#pragma once

#include "core/collective/algorithm.h"

namespace trainyard::collective {

struct Tree {
  std::vector<int> parent;  // by position; -1 for the root

  int depth(int position) const;  // 0 for the root
  int height() const;             // greatest depth
  std::vector<int> children(int position) const;
};

// Reduce up to the root; broadcast down from it. The number of rounds is the height; one level per
// round.
Rounds up_tree(const Tree& tree, int position, int chunk);
Rounds down_tree(const Tree& tree, int position, int chunk);

// Returns a tree of height 1: every member is a child of the root.
Tree star_tree(int members, int root);

// Returns a binomial tree: counted from the root, the parent of member i is i without its highest
// bit. Height ceil(log2 n).
Tree binomial_tree(int members, int root);

}  // namespace trainyard::collective
