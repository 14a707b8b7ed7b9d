// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/collective/tree.h"

#include <algorithm>
#include <bit>

namespace trainyard::collective {

int Tree::depth(int position) const {
  int depth = 0;
  for (int at = position; parent[static_cast<std::size_t>(at)] >= 0;
       at = parent[static_cast<std::size_t>(at)])
    ++depth;
  return depth;
}

int Tree::height() const {
  int height = 0;
  for (int position = 0; position < static_cast<int>(parent.size()); ++position)
    height = std::max(height, depth(position));
  return height;
}

std::vector<int> Tree::children(int position) const {
  std::vector<int> list;
  for (int child = 0; child < static_cast<int>(parent.size()); ++child)
    if (parent[static_cast<std::size_t>(child)] == position) list.push_back(child);
  return list;
}

Rounds up_tree(const Tree& tree, int position, int chunk) {
  const int height = tree.height(), depth = tree.depth(position);
  // in round height - d, members at depth d send to their parents
  Rounds rounds(static_cast<std::size_t>(height));
  if (depth > 0)
    rounds[static_cast<std::size_t>(height - depth)].push_back(
        {StepKind::send, tree.parent[static_cast<std::size_t>(position)], chunk});
  std::vector<int> summands = tree.children(position);
  if (summands.empty()) return rounds;
  summands.insert(std::lower_bound(summands.begin(), summands.end(), position), position);
  rounds[static_cast<std::size_t>(height - depth - 1)].push_back(
      {StepKind::reduce_many, -1, chunk, 1, summands});
  return rounds;
}

Rounds down_tree(const Tree& tree, int position, int chunk) {
  const int depth = tree.depth(position);
  // in round d, members at depth d send to their children
  Rounds rounds(static_cast<std::size_t>(tree.height()));
  if (depth > 0)
    rounds[static_cast<std::size_t>(depth - 1)].push_back(
        {StepKind::recv, tree.parent[static_cast<std::size_t>(position)], chunk});
  for (const int child : tree.children(position))
    rounds[static_cast<std::size_t>(depth)].push_back({StepKind::send, child, chunk});
  return rounds;
}

Tree star_tree(int members, int root) {
  Tree tree{std::vector<int>(static_cast<std::size_t>(members), root)};
  tree.parent[static_cast<std::size_t>(root)] = -1;
  return tree;
}

Tree binomial_tree(int members, int root) {
  Tree tree{std::vector<int>(static_cast<std::size_t>(members), -1)};
  for (int i = 1; i < members; ++i) {
    const int above = i ^ static_cast<int>(std::bit_floor(static_cast<unsigned>(i)));
    tree.parent[static_cast<std::size_t>((root + i) % members)] = (root + above) % members;
  }
  return tree;
}

}  // namespace trainyard::collective
