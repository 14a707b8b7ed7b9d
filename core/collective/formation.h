// SPDX-License-Identifier: GPL-3.0-or-later
// Formation of a group: which members share a host, and the grid that they form. Members are
// identified by position.
#pragma once

#include <vector>

namespace trainyard::collective {

struct Formation {
  int members = 1;
  std::vector<std::vector<int>>
      hosts;        // positions on each host, ascending; hosts ordered by first position
  int columns = 1;  // columns of the grid: position = row * columns + column; divides `members`

  int rows() const { return members / columns; }
  bool even() const;  // true if all hosts have equally many members
  const std::vector<int>& host_of(
      int position) const;  // positions on the same host, including `position`
};

// Returns a formation on one host; its grid is closest to a square, with at most as many rows as
// columns.
Formation formation(int members);

// `host_of`: host number by position. If hosts have equally many members, at contiguous positions,
// a row of the grid is a host.
Formation formation(const std::vector<int>& host_of);

}  // namespace trainyard::collective
