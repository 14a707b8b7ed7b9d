// SPDX-License-Identifier: GPL-3.0-or-later
// A rooted tree over the members of a group, and what goes up and down it. Not pipelined: segments
// of the buffer are what makes all levels work at once.
#pragma once

#include "core/collective/algorithm.h"

namespace trainyard::collective {

struct Tree {
  std::vector<int> parent;  // by position; -1: the root

  int depth(int position) const;  // of the root 0
  int height() const;             // the greatest depth
  std::vector<int> children(int position) const;
};

// Sums up to the root; the root's down to all. As many rounds as the tree is high; level by level,
// so a level works at once.
Rounds up_tree(const Tree& tree, int position, int chunk);
Rounds down_tree(const Tree& tree, int position, int chunk);

// At height 1: every member is a child of the root.
Tree star_tree(int members, int root);

// Binomial tree: counted from the root, member i hangs on i without its highest bit. Height
// ceil(log2 n).
Tree binomial_tree(int members, int root);

}  // namespace trainyard::collective
