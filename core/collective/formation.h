// SPDX-License-Identifier: GPL-3.0-or-later
// Formation of a group: which members share a host, and the grid for torus algorithms. Members are
// identified by position.
#pragma once

#include <vector>

namespace trainyard::collective {

struct Formation {
  int members = 1;
  // positions of the members on each host, ascending; hosts are ordered by their first position
  std::vector<std::vector<int>> hosts;
  // number of columns of the grid, a divisor of `members`; position = row * columns + column
  int columns = 1;

  int rows() const { return members / columns; }
  bool even() const;  // true if all hosts have equally many members
  // returns all positions on the host of `position`, including `position`
  const std::vector<int>& host_of(int position) const;
};

// Returns a formation of members on one host. Its grid is as close to a square as possible, with at
// most as many rows as columns.
Formation formation(int members);

// Returns a formation of members on several hosts. `host_of`: host number by position. If all hosts
// have the same number of members, and the positions of each host are contiguous, each host is a
// row of the grid.
Formation formation(const std::vector<int>& host_of);

}  // namespace trainyard::collective
